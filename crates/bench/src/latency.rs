//! How long a search takes at a given size: `mission bench kb --entries`
//! prints these figures. The entries are made up, with words as frequent as
//! those of a language and vectors in clusters as those of a model are, so
//! that anyone gets the same set from the same number.

use std::time::{Duration, Instant};

use missiond_core::{EntryCategory, Timestamp};
use missiond_knowledge::vectors::{dot, normalised};
use missiond_knowledge::{
    Corpus, Document, EmbedError, Embedder, Mode, Paths, Profile, Purpose, Reads, Request,
    SearchResult,
};

/// The dimension of the made-up vectors, that of every model that can be installed.
pub const DIMENSION: usize = 384;

/// Where made-up entries and questions come from.
#[derive(Debug)]
pub struct World {
    centres: Vec<Vec<f32>>,
}

const CENTRES: usize = 2000;
const WORDS: u64 = 50_000;

impl World {
    #[must_use]
    pub fn made_up() -> Self {
        let centre = |number: usize| Random::new(0xC0FFEE ^ number as u64).vector();
        Self {
            centres: (0..CENTRES).map(centre).collect(),
        }
    }

    /// So many entries in an index, ready to be searched.
    #[must_use]
    pub fn index(&self, entries: usize) -> Indexed<'_> {
        let began = Instant::now();
        let profile = Profile::best();
        let mut corpus = Corpus::new(profile.context, Some(DIMENSION));
        for number in 0..entries {
            corpus.put(self.document(number), Some(self.vector(number)));
        }
        corpus.partition();
        Indexed {
            world: self,
            entries,
            profile,
            corpus,
            build: began.elapsed(),
        }
    }

    fn document(&self, number: usize) -> Document {
        let mut random = Random::new(number as u64);
        let text: Vec<String> = (0..24).map(|_| word(random.frequent(WORDS))).collect();
        Document {
            id: format!("e{number}"),
            text: text.join(" "),
            category: EntryCategory::Note,
            scope: None,
            at: Timestamp::from_micros(0),
            position: None,
            spoken_day: None,
        }
    }

    fn vector(&self, number: usize) -> Vec<f32> {
        let mut random = Random::new(0xFACE ^ (number as u64) << 20);
        let centre = &self.centres[random.below(CENTRES as u64) as usize];
        let noise = random.vector();
        let mixed: Vec<f32> = centre
            .iter()
            .zip(&noise)
            .map(|(c, n)| c + 0.6 * n)
            .collect();
        normalised(&mixed).unwrap_or(mixed)
    }

    /// A few words of an entry, two of no entry in particular, and a vector
    /// near that entry's.
    fn question(&self, query: usize, entries: usize) -> (String, Vec<f32>) {
        let mut random = Random::new(0xBEEF ^ (query as u64) << 24);
        let about = random.below(entries as u64) as usize;
        let document = self.document(about);
        let words: Vec<&str> = document
            .text
            .split(' ')
            .skip(3)
            .step_by(5)
            .take(4)
            .collect();
        let more = [word(random.frequent(WORDS)), word(random.frequent(WORDS))];
        let text = format!(
            "how does the {} {} {} work",
            words.join(" "),
            more[0],
            more[1]
        );
        let noise = random.vector();
        let near: Vec<f32> = self
            .vector(about)
            .iter()
            .zip(&noise)
            .map(|(v, n)| v + 0.6 * n)
            .collect();
        (text, normalised(&near).unwrap_or(near))
    }
}

/// Made-up entries and their index.
#[derive(Debug)]
pub struct Indexed<'w> {
    world: &'w World,
    entries: usize,
    profile: Profile,
    corpus: Corpus,
    /// How long it took to build.
    pub build: Duration,
}

impl Indexed<'_> {
    /// What the index and the texts take, by their own count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.corpus.bytes()
    }

    /// How long each of so many searches takes, with a vector that is there.
    #[must_use]
    pub fn search(&self, queries: usize) -> Vec<Duration> {
        let asked = self.asked(queries);
        let time = |(text, vector): &(String, Vec<f32>)| {
            let began = Instant::now();
            let answer = self.answer(text, vector, Reads::Everything);
            let time = began.elapsed();
            std::hint::black_box(answer);
            time
        };
        asked.iter().map(time).collect()
    }

    /// How long a search takes from the question on, for each of these: it is
    /// embedded first. The words that are looked for are made up as always,
    /// because the entries have no others.
    pub fn embed_and_search(
        &self,
        questions: &[String],
        model: &dyn Embedder,
    ) -> Result<Vec<Duration>, EmbedError> {
        let asked = self.asked(questions.len());
        let time = |(question, (words, _)): (&String, &(String, Vec<f32>))| {
            let began = Instant::now();
            let vectors = model.embed(&[question], Purpose::Query)?;
            let answers = vectors
                .iter()
                .map(|vector| self.answer(words, vector, model.reads()))
                .collect::<Vec<_>>();
            let time = began.elapsed();
            std::hint::black_box(answers);
            Ok(time)
        };
        questions.iter().zip(&asked).map(time).collect()
    }

    /// How many of the ten nearest of all vectors the index finds, over fifty
    /// questions.
    #[must_use]
    pub fn recall_at_10(&self) -> f64 {
        let asked = self.asked(50);
        let mut similarities = vec![Vec::with_capacity(self.entries); asked.len()];
        for number in 0..self.entries {
            let vector = self.world.vector(number);
            for ((_, query), all) in asked.iter().zip(&mut similarities) {
                all.push(dot(&vector, query));
            }
        }
        let Some(index) = self.corpus.vectors() else {
            return 0.0;
        };
        let (mut found, mut wanted) = (0_usize, 0_usize);
        for ((_, query), all) in asked.iter().zip(similarities) {
            let exact = most_similar(&all, 10);
            let near = index.nearest(query, 10, &|_| true);
            wanted += exact.len();
            let is_found = |row: usize| near.iter().any(|hit| hit.doc as usize == row);
            found += exact.into_iter().filter(|row| is_found(*row)).count();
        }
        found as f64 / wanted.max(1) as f64
    }

    fn asked(&self, queries: usize) -> Vec<(String, Vec<f32>)> {
        (0..queries)
            .map(|query| self.world.question(query, self.entries))
            .collect()
    }

    fn answer(&self, query: &str, vector: &[f32], model_reads: Reads) -> SearchResult {
        self.corpus.search(&Request {
            query,
            vector: Some(vector),
            model_reads,
            profile: &self.profile,
            paths: Paths::Both,
            mode: Mode::Relevance,
            now: Timestamp::from_micros(0),
            scope: None,
            categories: &[],
            limit: 10,
            offset: 0,
        })
    }
}

/// The rows of so many of the highest similarities.
fn most_similar(similarities: &[f32], count: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..similarities.len()).collect();
    let highest_first = |a: &usize, b: &usize| similarities[*b].total_cmp(&similarities[*a]);
    if rows.len() > count {
        rows.select_nth_unstable_by(count, highest_first);
        rows.truncate(count);
    }
    rows
}

/// A made-up word: syllables from a number.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu",
        "za",
    ];
    let mut rest = number + 16;
    let mut text = String::new();
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    text
}

/// The same numbers from the same beginning, everywhere.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// Small numbers often, large ones rarely, as words are.
    fn frequent(&mut self, most: u64) -> u64 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((most as f64).powf(share) - 1.0) as u64
    }

    fn vector(&mut self) -> Vec<f32> {
        let one = |random: &mut Self| {
            let n = random.next();
            // The sum of four bytes is nearly normal.
            let sum = (n & 0xFF) + (n >> 8 & 0xFF) + (n >> 16 & 0xFF) + (n >> 24 & 0xFF);
            sum as f32 - 510.0
        };
        let vector: Vec<f32> = (0..DIMENSION).map(|_| one(self)).collect();
        normalised(&vector).unwrap_or(vector)
    }
}
