-- How far an entry's author is believed stays; what the entries around it leave of
-- that is counted again whenever an edge begins or ends.

ALTER TABLE knowledge ADD COLUMN trust double precision NOT NULL DEFAULT 0.8;

UPDATE knowledge SET trust =
    CASE tier WHEN 'person' THEN 1.0 WHEN 'machine' THEN 0.6 ELSE 0.8 END;

-- An edge that was seen by comparing ends when one of its entries says something
-- else. What each end keeps of its trust belongs to the edge.

ALTER TABLE knowledge_edges ADD COLUMN made_by text NOT NULL DEFAULT 'comparison';
ALTER TABLE knowledge_edges ADD COLUMN from_keeps double precision NOT NULL DEFAULT 1.0;
ALTER TABLE knowledge_edges ADD COLUMN to_keeps double precision NOT NULL DEFAULT 1.0;
ALTER TABLE knowledge_edges ADD COLUMN ended_at bigint;

-- Comparing has always given its reason in these words.
UPDATE knowledge_edges SET made_by = 'statement'
    WHERE reason <> 'the same words' AND reason NOT LIKE '%of the words in common%';

UPDATE knowledge_edges SET to_keeps = 0.5
    WHERE kind = 'supersedes' AND made_by = 'comparison';
UPDATE knowledge_edges SET from_keeps = 0.7, to_keeps = 0.7
    WHERE kind = 'contradicts' AND made_by = 'comparison';
UPDATE knowledge_edges SET from_keeps = 0.5, to_keeps = 1.0
    WHERE kind = 'contradicts' AND made_by = 'comparison'
    AND reason LIKE '%; the older one is of %';

UPDATE knowledge_edges SET ended_at =
    (SELECT MIN(r.at) FROM knowledge_revisions r
     WHERE r.entry IN (knowledge_edges.from_entry, knowledge_edges.to_entry)
     AND r.at > knowledge_edges.at)
    WHERE made_by = 'comparison';

-- Where a model behind an endpoint was reached, so that its vectors can be searched
-- while those of another are made.

ALTER TABLE knowledge_models ADD COLUMN endpoint text;
