-- The two tables of STATS whose rows are not here; statistics.json has what is known of them.
CREATE TABLE postHistory (
    Id INTEGER NOT NULL PRIMARY KEY,
    PostHistoryTypeId SMALLINT,
    PostId INTEGER REFERENCES posts (Id),
    CreationDate TIMESTAMP,
    UserId INTEGER REFERENCES users (Id)
);

CREATE TABLE comments (
    Id INTEGER NOT NULL PRIMARY KEY,
    PostId INTEGER REFERENCES posts (Id),
    Score SMALLINT,
    CreationDate TIMESTAMP,
    UserId INTEGER REFERENCES users (Id)
);
