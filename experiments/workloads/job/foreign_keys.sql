-- The foreign keys that the statistics' source lists, one of them corrected (SOURCE.md). Declared, never checked: there are no rows.
ALTER TABLE cast_info ADD FOREIGN KEY (movie_id) REFERENCES title (id);
ALTER TABLE movie_companies ADD FOREIGN KEY (company_id) REFERENCES company_name (id);
ALTER TABLE movie_companies ADD FOREIGN KEY (company_type_id) REFERENCES company_type (id);
ALTER TABLE movie_info_idx ADD FOREIGN KEY (info_type_id) REFERENCES info_type (id);
ALTER TABLE movie_keyword ADD FOREIGN KEY (keyword_id) REFERENCES keyword (id);
ALTER TABLE movie_companies ADD FOREIGN KEY (movie_id) REFERENCES title (id);
ALTER TABLE movie_info_idx ADD FOREIGN KEY (movie_id) REFERENCES title (id);
ALTER TABLE cast_info ADD FOREIGN KEY (person_role_id) REFERENCES char_name (id);
ALTER TABLE movie_keyword ADD FOREIGN KEY (movie_id) REFERENCES title (id);
ALTER TABLE movie_info ADD FOREIGN KEY (movie_id) REFERENCES title (id);
ALTER TABLE person_info ADD FOREIGN KEY (person_id) REFERENCES name (id);
ALTER TABLE title ADD FOREIGN KEY (kind_id) REFERENCES kind_type (id);
ALTER TABLE cast_info ADD FOREIGN KEY (person_id) REFERENCES name (id);
ALTER TABLE aka_name ADD FOREIGN KEY (person_id) REFERENCES name (id);
