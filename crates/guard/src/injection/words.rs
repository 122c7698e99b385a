//! A text as words, however they are written: small letters without accents, letters that
//! only look like others as those, digits for letters, invisible characters left out, and
//! letters with gaps between them put together.

use super::rules::{Catalogue, Element};

/// A word and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) elements: &'static [Element],
    /// A sentence ends behind it.
    pub(super) ends: bool,
    /// The letter, of a word that is one.
    letter: Option<char>,
}

/// The words of a text and what was odd about how they are written.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) words: Vec<Word>,
    /// Words of two alphabets.
    pub(super) mixed: Vec<(usize, usize)>,
    /// Words with something unseen inside.
    pub(super) broken: Vec<(usize, usize)>,
    /// Rows of single letters that are known words.
    pub(super) spaced: Vec<(usize, usize)>,
}

/// The fewest letters with gaps that are read as words.
const SHORTEST_ROW: usize = 6;
/// The longest word that is known.
const LONGEST_WORD: usize = 24;
/// The longest part of a row of letters that is read as one.
const LONGEST_ROW: usize = 512;

pub(super) fn read(text: &str) -> Words {
    let mut reader = Reader {
        text,
        catalogue: Catalogue::get(),
        found: Words::default(),
        word: String::new(),
        begin: None,
        end: 0,
        latin: false,
        cyrillic: false,
        unseen: false,
        was_unseen: false,
    };
    reader.read();
    let mut found = reader.found;
    join_letters(&mut found);
    found
}

struct Reader<'a> {
    text: &'a str,
    catalogue: &'static Catalogue,
    found: Words,
    word: String,
    begin: Option<usize>,
    end: usize,
    latin: bool,
    cyrillic: bool,
    /// Something unseen is inside the word, or was met and may yet be.
    unseen: bool,
    was_unseen: bool,
}

impl Reader<'_> {
    fn read(&mut self) {
        let mut rest = self.text.char_indices().peekable();
        let mut line_is_blank = false;
        while let Some((at, c)) = rest.next() {
            if is_unseen(c) {
                self.was_unseen = self.begin.is_some();
                continue;
            }
            // What belongs to a name of code belongs to the word, which then is no word.
            if c.is_alphanumeric() || c == '_' || is_mark(c) {
                line_is_blank = false;
                self.push(at, c);
                continue;
            }
            if matches!(c, '\'' | '\u{2019}' | '`') && self.begin.is_some() && c != '`' {
                continue;
            }
            if c == ':' && self.is_address() && self.text[at..].starts_with("://") {
                let end = self.text[at..].find(is_end_of_address);
                let end = end.map_or(self.text.len(), |length| at + length);
                self.address("http:", end);
                while rest.next_if(|(next, _)| *next < end).is_some() {}
                continue;
            }
            if c == '@' && self.begin.is_some() {
                let end = self.text[at..].find(is_end_of_address);
                let end = end.map_or(self.text.len(), |length| at + length);
                if self.text[at..end].contains('.') {
                    self.address("mail:", end);
                    while rest.next_if(|(next, _)| *next < end).is_some() {}
                    continue;
                }
            }
            // A call, an assignment and the name of a field end what was said in code.
            let next = rest.peek().map(|(_, next)| *next);
            let is_code = match c {
                '(' => self.begin.is_some_and(|_| self.end == at),
                '=' => true,
                '"' => next == Some(':'),
                _ => false,
            };
            self.finish();
            if is_code {
                self.end_sentence();
            }
            match c {
                ':' => self.push_known(at, at + 1, ":"),
                '\n' => {
                    if line_is_blank {
                        self.end_sentence();
                    }
                    line_is_blank = true;
                }
                '.' | '!' | '?' if next.is_none_or(char::is_whitespace) => self.end_sentence(),
                ';' | '{' | '}' | '。' | '！' | '？' => self.end_sentence(),
                _ => {}
            }
        }
        self.finish();
    }

    fn push(&mut self, at: usize, c: char) {
        if self.begin.is_none() {
            self.begin = Some(at);
        } else if self.was_unseen {
            self.unseen = true;
        }
        self.was_unseen = false;
        self.end = at + c.len_utf8();
        self.latin |= c.is_ascii_alphabetic();
        self.cyrillic |= ('\u{400}'..='\u{52f}').contains(&c);
        if self.word.len() < 4 * LONGEST_WORD {
            for lower in c.to_lowercase() {
                if !is_mark(lower) {
                    self.word.push(plain(lower));
                }
            }
        }
    }

    fn is_address(&self) -> bool {
        matches!(self.word.as_str(), "http" | "https" | "ftp" | "ws" | "wss")
    }

    fn address(&mut self, word: &str, end: usize) {
        let start = self.begin.unwrap_or(end);
        self.begin = None;
        self.word.clear();
        self.forget();
        self.push_known(start, end, word);
    }

    fn push_known(&mut self, start: usize, end: usize, word: &str) {
        self.found.words.push(Word {
            start,
            end,
            elements: self.catalogue.elements(word),
            ends: false,
            letter: None,
        });
    }

    fn end_sentence(&mut self) {
        if let Some(last) = self.found.words.last_mut() {
            last.ends = true;
        }
    }

    fn forget(&mut self) {
        (self.latin, self.cyrillic) = (false, false);
        (self.unseen, self.was_unseen) = (false, false);
    }

    fn finish(&mut self) {
        let Some(start) = self.begin.take() else {
            return;
        };
        let place = (start, self.end);
        if self.latin && self.cyrillic {
            self.word = self.word.chars().map(latin_of).collect();
            self.found.mixed.push(place);
        }
        if self.unseen && self.latin {
            self.found.broken.push(place);
        }
        let mut elements = self.catalogue.elements(&self.word);
        let has = |digit: bool| self.word.chars().any(|c| c.is_ascii_digit() == digit);
        if elements.is_empty() && has(true) && has(false) {
            let spelled: String = self.word.chars().map(letter_of_digit).collect();
            elements = self.catalogue.elements(&spelled);
        }
        let mut letters = self.word.chars();
        let letter = letters.next().filter(|c| c.is_alphabetic());
        self.found.words.push(Word {
            start,
            end: self.end,
            elements,
            ends: false,
            letter: letter.filter(|_| letters.next().is_none()),
        });
        self.word.clear();
        self.forget();
    }
}

/// Rows of single letters become the words they spell, where they spell known ones.
fn join_letters(found: &mut Words) {
    let words = std::mem::take(&mut found.words);
    let mut joined = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let row = words[at..].iter().take(LONGEST_ROW);
        let row = row.take_while(|word| word.letter.is_some()).count();
        if row >= SHORTEST_ROW
            && let Some(spelled) = spell(&words[at..at + row])
        {
            found
                .spaced
                .push((words[at].start, words[at + row - 1].end));
            joined.extend(spelled);
        } else {
            joined.extend_from_slice(&words[at..(at + row.max(1)).min(words.len())]);
        }
        at += row.max(1);
    }
    found.words = joined;
}

/// The known words that a row of letters spells, without a letter left over.
fn spell(row: &[Word]) -> Option<Vec<Word>> {
    let catalogue = Catalogue::get();
    let letters: Vec<char> = row.iter().filter_map(|word| word.letter).collect();
    // Which word ends at each place, of those that can be reached.
    let mut from = vec![None; letters.len() + 1];
    from[0] = Some(0);
    for start in 0..letters.len() {
        if from[start].is_none() {
            continue;
        }
        let mut word = String::new();
        for end in start + 1..=letters.len().min(start + LONGEST_WORD) {
            word.push(letters[end - 1]);
            let is_filler = matches!(word.as_str(), "a" | "i" | "and" | "of" | "is" | "it" | "be");
            if from[end].is_none() && (is_filler || !catalogue.elements(&word).is_empty()) {
                from[end] = Some(start);
            }
        }
    }
    let mut words = Vec::new();
    let mut end = letters.len();
    while end > 0 {
        let start = from[end]?;
        let word: String = letters[start..end].iter().collect();
        words.push(Word {
            start: row[start].start,
            end: row[end - 1].end,
            elements: catalogue.elements(&word),
            ends: row[end - 1].ends,
            letter: None,
        });
        end = start;
    }
    words.reverse();
    let long = words.iter().filter(|word| word.end - word.start > 4);
    (long.count() >= 2).then_some(words)
}

fn is_end_of_address(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>' | '<' | '`' | ']' | ',' | '|')
}

/// A character that is not seen and stands between others.
pub(super) fn is_unseen(c: char) -> bool {
    matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180e
        | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
        | 0xfeff | 0xffa0 | 0xfff9..=0xfffb | 0xe_0000..=0xe_0fff)
}

/// An accent that stands behind its letter.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36f)
}

/// A letter without what was added to it: accents, width, boldness, circles.
fn plain(c: char) -> char {
    let at = |first: u32, letter: u8| {
        char::from(letter + u8::try_from(u32::from(c) - first).unwrap_or(0))
    };
    match u32::from(c) {
        0..0x80 => c,
        0xff41..=0xff5a => at(0xff41, b'a'),
        0xff10..=0xff19 => at(0xff10, b'0'),
        0x24d0..=0x24e9 => at(0x24d0, b'a'),
        0x1f130..=0x1f149 => at(0x1f130, b'a'),
        0x1f150..=0x1f169 => at(0x1f150, b'a'),
        0x1f170..=0x1f189 => at(0x1f170, b'a'),
        // Mathematical letters have no small ones for `to_lowercase`.
        code @ 0x1d400..=0x1d6a3 => {
            let letter = u8::try_from((code - 0x1d400) % 52 % 26).unwrap_or(0);
            char::from(b'a' + letter)
        }
        _ => match c {
            'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
            'ç' | 'ć' | 'č' => 'c',
            'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
            'ì'..='ï' | 'ī' => 'i',
            'ñ' | 'ń' | 'ň' => 'n',
            'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
            'ś' | 'š' | 'ş' => 's',
            'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
            'ý' | 'ÿ' => 'y',
            'ź' | 'ż' | 'ž' => 'z',
            'ɡ' => 'g',
            'ı' => 'i',
            'ℓ' => 'l',
            'ο' => 'o',
            'α' => 'a',
            'ι' => 'i',
            'ν' => 'v',
            'ρ' => 'p',
            'υ' => 'u',
            'κ' => 'k',
            'τ' => 't',
            'ε' => 'e',
            c => c,
        },
    }
}

/// The letter of the Latin alphabet that a Cyrillic one looks like.
fn latin_of(c: char) -> char {
    match c {
        'а' => 'a',
        'в' => 'b',
        'с' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' => 'e',
        'һ' | 'н' => 'h',
        'і' | 'ї' => 'i',
        'ј' => 'j',
        'к' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'п' => 'n',
        'о' => 'o',
        'р' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' => 't',
        'ѵ' => 'v',
        'ԝ' => 'w',
        'х' => 'x',
        'у' => 'y',
        c => c,
    }
}

fn letter_of_digit(c: char) -> char {
    match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        '6' => 'g',
        '7' => 't',
        '8' => 'b',
        c => c,
    }
}
