"""The names of owners and bots as `confusable_names` compares them since it finds `bot-l.0` for `bot-1.0`."""

import sqlalchemy as sa
from alembic import op

from noughts_server.store.people.confusable_names import skeleton

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    connection = op.get_bind()
    for name in ("owners", "bot_names"):
        table = sa.table(name, sa.column("name"), sa.column("skeleton"))
        names = connection.scalars(sa.select(table.c.name)).all()
        change = sa.update(table).where(table.c.name == sa.bindparam("this")).values(skeleton=sa.bindparam("key"))
        if names:
            connection.execute(change, [{"this": each, "key": skeleton(each)} for each in names])
