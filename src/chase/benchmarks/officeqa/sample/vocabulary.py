"""The words of the synthetic bulletins: sections, subjects of tables, and the items that tables break down."""

from __future__ import annotations

from typing import Literal, NamedTuple

Family = Literal["money", "percent", "ounces"]
Nature = Literal["flow", "stock", "rate"]

SOURCES = (
    "Income taxes > Individual > Withheld; Income taxes > Individual > Other; Income taxes > Corporation; "
    "Social insurance > Employment taxes; Social insurance > Unemployment insurance; "
    "Social insurance > Other retirement; Excise taxes > Alcohol; Excise taxes > Tobacco; "
    "Excise taxes > Highway; Excise taxes > Other; Receipts > Customs; Receipts > Estate and gift taxes; "
    "Receipts > Miscellaneous"
)
AGENCIES = (
    "Legislative branch; The judiciary; Agriculture; Commerce; Defense > Military; Defense > Civil; Education; "
    "Energy; Health and human services; Interior; Justice; Labor; State; Transportation; "
    "Treasury > Interest on the public debt; Treasury > Other; Veterans affairs; Postal service; "
    "Civil service commission; Other independent agencies"
)
FUNCTIONS = (
    "National defense; International affairs; General science; Natural resources; Agriculture; "
    "Commerce and housing; Transportation; Community development; Education and training; Health; "
    "Income security; Veterans benefits; Administration of justice; General government; Net interest"
)
DEBT = (
    "Marketable > Bills; Marketable > Certificates; Marketable > Notes; Marketable > Bonds; "
    "Nonmarketable > Savings bonds; Nonmarketable > Foreign series; Nonmarketable > Government account series; "
    "Nonmarketable > State and local series; Matured debt; Debt bearing no interest"
)
HOLDERS = (
    "Federal Reserve Banks; Government accounts; Private investors > Commercial banks; "
    "Private investors > Mutual savings banks; Private investors > Insurance companies; "
    "Private investors > Corporations; Private investors > State and local governments; "
    "Private investors > Individuals > Savings bonds; Private investors > Individuals > Other securities; "
    "Private investors > Foreign and international; Private investors > Miscellaneous"
)
COUNTRIES = (
    "Belgium; Denmark; France; Germany; Italy; Netherlands; Norway; Spain; Sweden; Switzerland; United Kingdom; "
    "Canada; Argentina; Brazil; Chile; Mexico; Venezuela; India; Indonesia; Japan; Philippines; Thailand; "
    "Australia; Egypt"
)
STATES = (
    "Alabama; Arizona; California; Colorado; Connecticut; Florida; Georgia; Illinois; Indiana; Iowa; Kansas; "
    "Kentucky; Louisiana; Maryland; Massachusetts; Michigan; Minnesota; Missouri; New Jersey; New York; Ohio; "
    "Oregon; Pennsylvania; Texas; Virginia; Washington; Wisconsin"
)
DISTRICTS = (
    "Baltimore; Boston; Buffalo; Chicago; Detroit; Galveston; Honolulu; Laredo; Los Angeles; New Orleans; "
    "New York; Norfolk; Philadelphia; San Francisco; Seattle; Tampa"
)
FUNDS = (
    "Old-age and survivors insurance; Disability insurance; Federal hospital insurance; Unemployment; "
    "Railroad retirement; Civil service retirement; Highway; Airport and airway; "
    "National service life insurance; Black lung disability"
)
SERIES = "Series E; Series F; Series G; Series H; Series J; Series K; Series EE; Series HH"
DENOMINATIONS = "$1; $2; $5; $10; $20; $50; $100; $500; $1,000; $5,000; $10,000"
MATURITIES = (
    "Within 1 year; 1 to 5 years; 5 to 10 years; 10 to 20 years; 20 years and over; Bills > 3-month; "
    "Bills > 6-month; Bills > 52-week"
)
RESERVES = (
    "Gold stock; Special drawing rights; Foreign currencies; Reserve position in the fund; "
    "Treasury securities held abroad; Other short-term liabilities"
)


class Subject(NamedTuple):
    """What a group of tables is about."""

    code: str
    section: str
    title: str
    items: str
    family: Family
    nature: Nature
    start: float
    """Of an average item in its first month: dollars, hundredths of a percent or ounces."""


_FFO, _FD = "Federal fiscal operations", "Federal debt"
_IFS, _CM = "International financial statistics", "Capital movements"
_OFS, _GSA = "Ownership of Federal securities", "Corporations and business-type activities"

SUBJECTS = (
    Subject("FFO-1", _FFO, "Budget receipts by source", SOURCES, "money", "flow", 4e7),
    Subject("FFO-2", _FFO, "Budget outlays by agency", AGENCIES, "money", "flow", 3e7),
    Subject("FFO-3", _FFO, "Budget outlays by function", FUNCTIONS, "money", "flow", 3.5e7),
    Subject("FFO-4", _FFO, "Refunds of receipts by source", SOURCES, "money", "flow", 3e6),
    Subject("FFO-5", _FFO, "Unexpended balances by agency", AGENCIES, "money", "stock", 2e8),
    Subject("TF-1", "Trust funds", "Receipts of trust funds", FUNDS, "money", "flow", 6e6),
    Subject("TF-2", "Trust funds", "Outlays of trust funds", FUNDS, "money", "flow", 5e6),
    Subject("TF-3", "Trust funds", "Investments of trust funds", FUNDS, "money", "stock", 9e7),
    Subject("FD-1", _FD, "Federal debt outstanding by type of security", DEBT, "money", "stock", 3e9),
    Subject("FD-2", _FD, "Interest cost of the public debt by type of security", DEBT, "money", "flow", 8e6),
    Subject(
        "FD-3", _FD, "Computed interest rates on the public debt by type of security", DEBT, "percent", "rate", 300
    ),
    Subject("FD-4", _FD, "Marketable securities by maturity", MATURITIES, "money", "stock", 2e9),
    Subject("PDO-1", "Public debt operations", "Issues of public debt securities", DEBT, "money", "flow", 4e8),
    Subject("PDO-2", "Public debt operations", "Redemptions of public debt securities", DEBT, "money", "flow", 3.8e8),
    Subject("OFS-1", _OFS, "Distribution by class of investor", HOLDERS, "money", "stock", 2e9),
    Subject("OFS-2", _OFS, "Net purchases by class of investor", HOLDERS, "money", "flow", 2e7),
    Subject("MY-1", "Market yields", "Average yields of Treasury securities", MATURITIES, "percent", "rate", 400),
    Subject("MY-2", "Market yields", "Average yields of municipal securities", MATURITIES, "percent", "rate", 350),
    Subject("SB-1", "Savings bonds", "Sales of savings bonds by series", SERIES, "money", "flow", 2e7),
    Subject("SB-2", "Savings bonds", "Redemptions of savings bonds by series", SERIES, "money", "flow", 1.5e7),
    Subject("SB-3", "Savings bonds", "Savings bonds outstanding by series", SERIES, "money", "stock", 9e8),
    Subject("SB-4", "Savings bonds", "Sales of savings bonds by State", STATES, "money", "flow", 4e6),
    Subject("IRC-1", "Internal revenue collections", "Collections by State", STATES, "money", "flow", 9e6),
    Subject("IRC-2", "Internal revenue collections", "Refunds by State", STATES, "money", "flow", 7e5),
    Subject("IRC-3", "Internal revenue collections", "Collections by type of tax", SOURCES, "money", "flow", 3e7),
    Subject("CC-1", "Customs collections", "Collections by district", DISTRICTS, "money", "flow", 2e6),
    Subject("CC-2", "Customs collections", "Drawback and refunds by district", DISTRICTS, "money", "flow", 1e5),
    Subject(
        "USCC-1", "Currency and coin", "Currency in circulation by denomination", DENOMINATIONS, "money", "stock", 3e8
    ),
    Subject("USCC-2", "Currency and coin", "Currency redeemed by denomination", DENOMINATIONS, "money", "flow", 2e7),
    Subject("IFS-1", _IFS, "Reserve assets of the United States", RESERVES, "money", "stock", 2e9),
    Subject("IFS-2", _IFS, "Gold holdings by country", COUNTRIES, "ounces", "stock", 2e7),
    Subject("IFS-3", _IFS, "Net gold sales by country", COUNTRIES, "ounces", "flow", 1e5),
    Subject("IFS-4", _IFS, "Dollar liabilities to foreigners by country", COUNTRIES, "money", "stock", 2e8),
    Subject("CM-1", _CM, "Short-term liabilities to foreigners by country", COUNTRIES, "money", "stock", 1.6e8),
    Subject("CM-2", _CM, "Short-term claims on foreigners by country", COUNTRIES, "money", "stock", 9e7),
    Subject("CM-3", _CM, "Long-term claims on foreigners by country", COUNTRIES, "money", "stock", 5e7),
    Subject("CM-4", _CM, "Foreign purchases of domestic securities by country", COUNTRIES, "money", "flow", 2e7),
    Subject("CM-5", _CM, "Foreign sales of domestic securities by country", COUNTRIES, "money", "flow", 1.9e7),
    Subject("ESF-1", "Exchange stabilization fund", "Balances of the fund", RESERVES, "money", "stock", 8e7),
    Subject("GSA-1", _GSA, "Loans outstanding by agency", AGENCIES, "money", "stock", 6e7),
    Subject("GSA-2", _GSA, "Assets by agency", AGENCIES, "money", "stock", 9e7),
)
