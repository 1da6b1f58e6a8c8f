-- The six tables of STATS with rows here. The foreign keys hold of these rows (SOURCE.md).
CREATE TABLE users (
    Id INTEGER NOT NULL PRIMARY KEY,
    Reputation INTEGER,
    CreationDate TIMESTAMP,
    Views INTEGER,
    UpVotes INTEGER,
    DownVotes INTEGER
);

CREATE TABLE posts (
    Id INTEGER NOT NULL PRIMARY KEY,
    PostTypeId SMALLINT,
    CreationDate TIMESTAMP,
    Score INTEGER,
    ViewCount INTEGER,
    OwnerUserId INTEGER REFERENCES users (Id),
    AnswerCount INTEGER,
    CommentCount INTEGER,
    FavoriteCount INTEGER,
    LastEditorUserId INTEGER REFERENCES users (Id)
);

CREATE TABLE postLinks (
    Id INTEGER NOT NULL PRIMARY KEY,
    CreationDate TIMESTAMP,
    PostId INTEGER REFERENCES posts (Id),
    RelatedPostId INTEGER REFERENCES posts (Id),
    LinkTypeId SMALLINT
);

CREATE TABLE votes (
    Id INTEGER NOT NULL PRIMARY KEY,
    PostId INTEGER REFERENCES posts (Id),
    VoteTypeId SMALLINT,
    CreationDate TIMESTAMP,
    UserId INTEGER REFERENCES users (Id),
    BountyAmount SMALLINT
);

CREATE TABLE badges (
    Id INTEGER NOT NULL PRIMARY KEY,
    UserId INTEGER REFERENCES users (Id),
    Date TIMESTAMP
);

CREATE TABLE tags (
    Id INTEGER NOT NULL PRIMARY KEY,
    Count INTEGER,
    ExcerptPostId INTEGER REFERENCES posts (Id)
);
