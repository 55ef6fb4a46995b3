"""What agents of any role share: conversations, transcripts, histories, and commands under confinement."""
