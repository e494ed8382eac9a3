CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE games (
    tournament_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    first_entry INTEGER NOT NULL,
    second_entry INTEGER NOT NULL,
    result SMALLINT NOT NULL,
    termination SMALLINT NOT NULL,
    moves BLOB NOT NULL,
    times BLOB NOT NULL,
    ended_at BIGINT NOT NULL,
    CONSTRAINT pk_games PRIMARY KEY (tournament_id, ordinal)
)
 WITHOUT ROWID;

CREATE TABLE owners (
    id INTEGER NOT NULL,
    name VARCHAR(63) NOT NULL,
    CONSTRAINT pk_owners PRIMARY KEY (id),
    CONSTRAINT uq_owners_name UNIQUE (name)
);

CREATE TABLE rating_lists (
    id INTEGER NOT NULL,
    variant VARCHAR(63) NOT NULL,
    time_class VARCHAR(16) NOT NULL,
    CONSTRAINT pk_rating_lists PRIMARY KEY (id),
    CONSTRAINT uq_rating_lists_variant_time_class UNIQUE (variant, time_class)
);

CREATE TABLE bots (
    id INTEGER NOT NULL,
    name VARCHAR(63) NOT NULL,
    owner_id INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_bots PRIMARY KEY (id),
    CONSTRAINT fk_bots_owner_id FOREIGN KEY(owner_id) REFERENCES owners (id),
    CONSTRAINT uq_bots_name UNIQUE (name)
);

CREATE TABLE tokens (
    id INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    label VARCHAR(200) NOT NULL,
    hash BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    last_used_at BIGINT,
    CONSTRAINT pk_tokens PRIMARY KEY (id),
    CONSTRAINT fk_tokens_owner_id FOREIGN KEY(owner_id) REFERENCES owners (id),
    CONSTRAINT uq_tokens_hash UNIQUE (hash)
);

CREATE TABLE tournaments (
    id INTEGER NOT NULL,
    slug VARCHAR(63) NOT NULL,
    title VARCHAR(200) NOT NULL,
    owner_id INTEGER NOT NULL,
    state SMALLINT NOT NULL,
    variant VARCHAR(63) NOT NULL,
    move_us BIGINT NOT NULL,
    bank_us BIGINT NOT NULL,
    increment_us BIGINT NOT NULL,
    schedule SMALLINT NOT NULL,
    games_per_pair INTEGER NOT NULL,
    concurrency INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    rated BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    games_total BIGINT NOT NULL,
    games_done BIGINT NOT NULL,
    unit_games INTEGER NOT NULL,
    folded BIGINT NOT NULL,
    CONSTRAINT pk_tournaments PRIMARY KEY (id),
    CONSTRAINT fk_tournaments_owner_id FOREIGN KEY(owner_id) REFERENCES owners (id),
    CONSTRAINT uq_tournaments_slug UNIQUE (slug)
);

CREATE INDEX ix_tournaments_state ON tournaments (state);

CREATE TABLE bot_versions (
    id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    version VARCHAR(63) NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT pk_bot_versions PRIMARY KEY (id),
    CONSTRAINT fk_bot_versions_bot_id FOREIGN KEY(bot_id) REFERENCES bots (id),
    CONSTRAINT uq_bot_versions_bot_id_version UNIQUE (bot_id, version)
);

CREATE TABLE entry_scores (
    tournament_id INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    wins BIGINT NOT NULL,
    draws BIGINT NOT NULL,
    losses BIGINT NOT NULL,
    CONSTRAINT pk_entry_scores PRIMARY KEY (tournament_id, entry),
    CONSTRAINT fk_entry_scores_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);

CREATE TABLE pair_scores (
    tournament_id INTEGER NOT NULL,
    first_entry INTEGER NOT NULL,
    second_entry INTEGER NOT NULL,
    wins BIGINT NOT NULL,
    draws BIGINT NOT NULL,
    losses BIGINT NOT NULL,
    CONSTRAINT pk_pair_scores PRIMARY KEY (tournament_id, first_entry, second_entry),
    CONSTRAINT fk_pair_scores_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);

CREATE TABLE rating_runs (
    first_seq BIGINT NOT NULL,
    list_id INTEGER NOT NULL,
    tournament_id INTEGER NOT NULL,
    first_ordinal BIGINT NOT NULL,
    games BIGINT NOT NULL,
    CONSTRAINT pk_rating_runs PRIMARY KEY (first_seq),
    CONSTRAINT fk_rating_runs_list_id FOREIGN KEY(list_id) REFERENCES rating_lists (id),
    CONSTRAINT fk_rating_runs_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);

CREATE INDEX ix_rating_runs_tournament_id_first_ordinal ON rating_runs (tournament_id, first_ordinal);

CREATE TABLE ratings (
    list_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    rating FLOAT NOT NULL,
    games BIGINT NOT NULL,
    wins BIGINT NOT NULL,
    draws BIGINT NOT NULL,
    losses BIGINT NOT NULL,
    CONSTRAINT pk_ratings PRIMARY KEY (list_id, bot_id),
    CONSTRAINT fk_ratings_bot_id FOREIGN KEY(bot_id) REFERENCES bots (id),
    CONSTRAINT fk_ratings_list_id FOREIGN KEY(list_id) REFERENCES rating_lists (id)
);

CREATE TABLE requests (
    token_id INTEGER NOT NULL,
    request_id VARCHAR(64) NOT NULL,
    method VARCHAR(80) NOT NULL,
    body_hash BLOB NOT NULL,
    answer VARCHAR(400) NOT NULL,
    CONSTRAINT pk_requests PRIMARY KEY (token_id, request_id),
    CONSTRAINT fk_requests_token_id FOREIGN KEY(token_id) REFERENCES tokens (id)
);

CREATE TABLE units (
    tournament_id INTEGER NOT NULL,
    number BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    CONSTRAINT pk_units PRIMARY KEY (tournament_id, number),
    CONSTRAINT fk_units_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id)
);

CREATE TABLE entries (
    tournament_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    bot_version_id INTEGER NOT NULL,
    label VARCHAR(80) NOT NULL,
    CONSTRAINT pk_entries PRIMARY KEY (tournament_id, number),
    CONSTRAINT fk_entries_bot_version_id FOREIGN KEY(bot_version_id) REFERENCES bot_versions (id),
    CONSTRAINT fk_entries_tournament_id FOREIGN KEY(tournament_id) REFERENCES tournaments (id),
    CONSTRAINT uq_entries_tournament_id_label UNIQUE (tournament_id, label)
);

ALTER TABLE tokens ADD COLUMN scopes VARCHAR(400) DEFAULT 'play organise' NOT NULL;

ALTER TABLE tokens ADD COLUMN expires_at BIGINT;

ALTER TABLE tokens ADD COLUMN made_by BIGINT;

ALTER TABLE bots ADD COLUMN retired_at BIGINT;

ALTER TABLE tournaments ADD COLUMN kind SMALLINT DEFAULT '1' NOT NULL;

ALTER TABLE tournaments ADD COLUMN entries_min INTEGER DEFAULT '2' NOT NULL;

ALTER TABLE tournaments ADD COLUMN entries_max INTEGER DEFAULT '4096' NOT NULL;

ALTER TABLE tournaments ADD COLUMN join_from BIGINT;

ALTER TABLE tournaments ADD COLUMN join_until BIGINT;

ALTER TABLE tournaments ADD COLUMN start_at BIGINT;

ALTER TABLE tournaments ADD COLUMN reason VARCHAR(200);

CREATE TABLE rating_history (
    list_id INTEGER NOT NULL,
    bot_id INTEGER NOT NULL,
    games BIGINT NOT NULL,
    rating FLOAT NOT NULL,
    at BIGINT NOT NULL,
    CONSTRAINT pk_rating_history PRIMARY KEY (list_id, bot_id, games),
    CONSTRAINT fk_rating_history_list_id FOREIGN KEY(list_id) REFERENCES rating_lists (id),
    CONSTRAINT fk_rating_history_bot_id FOREIGN KEY(bot_id) REFERENCES bots (id)
)
 WITHOUT ROWID;

CREATE INDEX ix_bots_owner_id ON bots (owner_id);

CREATE INDEX ix_bots_retired_at ON bots (retired_at);

CREATE INDEX ix_entries_bot_version_id_tournament_id_number ON entries (bot_version_id, tournament_id, number);

CREATE INDEX ix_ratings_bot_id ON ratings (bot_id);

CREATE INDEX ix_ratings_list_id_rating_bot_id ON ratings (list_id, rating, bot_id);

CREATE INDEX ix_tokens_made_by ON tokens (made_by);

CREATE INDEX ix_tournaments_kind ON tournaments (kind);

CREATE TABLE game_notes (
    tournament_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    side SMALLINT NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_game_notes PRIMARY KEY (tournament_id, ordinal, side)
);

ALTER TABLE games ADD COLUMN fault TEXT;

ALTER TABLE tournaments ADD COLUMN own_times JSON;

ALTER TABLE tournaments ADD COLUMN options JSON;

ALTER TABLE tournaments ADD COLUMN base_entries INTEGER;

ALTER TABLE tournaments ADD COLUMN base_games_per_pair INTEGER;

ALTER TABLE entries ADD COLUMN withdrawn_at BIGINT;

ALTER TABLE entries ADD COLUMN withdrawn_reason VARCHAR(200);

ALTER TABLE games ADD COLUMN opening_plies SMALLINT DEFAULT '0' NOT NULL;

CREATE TABLE pairings (
    tournament_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    first_entry INTEGER NOT NULL,
    second_entry INTEGER NOT NULL,
    encounter BIGINT NOT NULL,
    round INTEGER NOT NULL,
    CONSTRAINT pk_pairings PRIMARY KEY (tournament_id, ordinal)
)
 WITHOUT ROWID;

CREATE INDEX ix_pairings_tournament_id_first_entry_ordinal ON pairings (tournament_id, first_entry, ordinal);

CREATE INDEX ix_pairings_tournament_id_second_entry_ordinal ON pairings (tournament_id, second_entry, ordinal);

CREATE TABLE byes (
    tournament_id BIGINT NOT NULL,
    round INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    CONSTRAINT pk_byes PRIMARY KEY (tournament_id, round, entry)
);

ALTER TABLE tournaments ADD COLUMN seed_kind SMALLINT DEFAULT '0' NOT NULL;

ALTER TABLE requests ADD COLUMN created_at BIGINT DEFAULT '0' NOT NULL;

CREATE TABLE journal (
    tournament_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    first_entry INTEGER NOT NULL,
    second_entry INTEGER NOT NULL,
    moves BLOB NOT NULL,
    times BLOB NOT NULL,
    first_clock_us BIGINT NOT NULL,
    second_clock_us BIGINT NOT NULL,
    opening_plies SMALLINT NOT NULL,
    CONSTRAINT pk_journal PRIMARY KEY (tournament_id, ordinal)
)
 WITHOUT ROWID;

ALTER TABLE tournaments ADD COLUMN own_rated BOOLEAN DEFAULT '1' NOT NULL;

ALTER TABLE games ADD COLUMN allowances BLOB;

CREATE INDEX ix_games_faults ON games (tournament_id, termination, ordinal) WHERE termination IN (3, 4, 5, 6);

CREATE TABLE nodes (
    name VARCHAR(80) NOT NULL,
    kind SMALLINT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    seats INTEGER NOT NULL,
    CONSTRAINT pk_nodes PRIMARY KEY (name)
);

ALTER TABLE units ADD COLUMN holder VARCHAR(80);

ALTER TABLE units ADD COLUMN played INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE units ADD COLUMN deaths SMALLINT DEFAULT '0' NOT NULL;

CREATE TABLE programs (
    id INTEGER NOT NULL,
    hash BLOB NOT NULL,
    size BIGINT NOT NULL,
    content BLOB NOT NULL,
    CONSTRAINT pk_programs PRIMARY KEY (id),
    CONSTRAINT uq_programs_hash UNIQUE (hash)
);

CREATE TABLE submissions (
    bot_version_id INTEGER NOT NULL,
    program_id INTEGER NOT NULL,
    owner_id INTEGER NOT NULL,
    kind VARCHAR(16) NOT NULL,
    entry VARCHAR(400) NOT NULL,
    file_name VARCHAR(200) NOT NULL,
    submitted_at BIGINT NOT NULL,
    CONSTRAINT pk_submissions PRIMARY KEY (bot_version_id),
    CONSTRAINT fk_submissions_bot_version_id FOREIGN KEY(bot_version_id) REFERENCES bot_versions (id),
    CONSTRAINT fk_submissions_program_id FOREIGN KEY(program_id) REFERENCES programs (id),
    CONSTRAINT fk_submissions_owner_id FOREIGN KEY(owner_id) REFERENCES owners (id)
);

CREATE INDEX ix_submissions_owner_id_submitted_at ON submissions (owner_id, submitted_at);

CREATE INDEX ix_submissions_program_id ON submissions (program_id);

INSERT INTO alembic_version (version_num) VALUES ('0014');
