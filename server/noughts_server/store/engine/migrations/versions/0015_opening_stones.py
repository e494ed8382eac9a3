"""Games that began by agreement store how many stones were agreed on. Older versions derived it from the times."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    tournaments = sa.table("tournaments", sa.column("id"), sa.column("variant"))
    agreed = sa.select(tournaments.c.id).where(tournaments.c.variant.like("%+swap%"))
    for name in ("games", "journal"):
        table = sa.table(
            name, sa.column("tournament_id"), sa.column("moves"), sa.column("times"), sa.column("opening_plies")
        )
        # The third time, of four bytes, marked that five stones were put, not three.
        third = sa.func.substr(table.c.times, 9, 4, type_=sa.LargeBinary)
        five = sa.and_(sa.func.length(table.c.times) >= 12, third != bytes(4))
        stones = sa.case((sa.func.length(table.c.moves) == 0, 0), (five, 5), else_=3)
        op.execute(sa.update(table).where(table.c.tournament_id.in_(agreed)).values(opening_plies=stones))
