"""A question about several periods is searched for period by period before the model's first turn."""


def plan(task):
    years = task["slots"].get("years", [])
    if len(years) < 2:
        return {}
    words = [word for word in task["question"].split() if not any(year in word for year in years)]
    note = (
        "The question names several periods, and each was searched for alone. Take the needed value of each period "
        "from the document that states it, and combine the values across documents."
    )
    return {"queries": [" ".join([year, *words]) for year in years[:4]], "note": note}
