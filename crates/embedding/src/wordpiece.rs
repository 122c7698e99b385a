//! WordPiece, the tokenizer of BERT models: a word becomes the longest pieces
//! the vocabulary has, and what it has no pieces for becomes one unknown token.

use std::collections::HashMap;

/// A vocabulary and how a text is cut by it.
#[derive(Debug)]
pub(crate) struct WordPiece {
    pieces: HashMap<String, i32>,
    /// Lines of the vocabulary.
    count: usize,
    unknown: i32,
    begin: i32,
    end: i32,
}

/// Longer words are unknown, as for the models' own tokenizers.
const LONGEST_WORD: usize = 100;

impl WordPiece {
    /// From a vocabulary with one piece a line. The error names what it lacks.
    pub(crate) fn from_vocabulary(text: &str) -> Result<Self, String> {
        let pieces: HashMap<String, i32> = text
            .lines()
            .enumerate()
            .map(|(number, piece)| (piece.trim_end_matches('\r').to_owned(), number as i32))
            .collect();
        let special = |name: &str| {
            let found = pieces.get(name).copied();
            found.ok_or_else(|| format!("the vocabulary has no {name}"))
        };
        Ok(Self {
            unknown: special("[UNK]")?,
            begin: special("[CLS]")?,
            end: special("[SEP]")?,
            count: text.lines().count(),
            pieces,
        })
    }

    /// Pieces of the vocabulary: all numbers are below this.
    pub(crate) fn vocabulary_size(&self) -> usize {
        self.count
    }

    /// The numbers of a text's pieces between the marks of begin and end, at
    /// most `most` of them.
    pub(crate) fn encode(&self, text: &str, most: usize) -> Vec<i32> {
        let mut numbers = vec![self.begin];
        let mut word = String::new();
        for c in text.chars() {
            if numbers.len() >= most {
                break;
            }
            if c.is_whitespace() || is_control(c) {
                if c.is_whitespace() {
                    self.cut(&mut word, &mut numbers);
                }
            } else if stands_alone(c) {
                self.cut(&mut word, &mut numbers);
                word.push(c);
                self.cut(&mut word, &mut numbers);
            } else {
                word.extend(
                    c.to_lowercase()
                        .map(without_accent)
                        .filter(|c| !is_accent(*c)),
                );
            }
        }
        self.cut(&mut word, &mut numbers);
        numbers.truncate(most - 1);
        numbers.push(self.end);
        numbers
    }

    fn cut(&self, word: &mut String, numbers: &mut Vec<i32>) {
        if word.is_empty() {
            return;
        }
        let before = numbers.len();
        let mut start = 0;
        let mut candidate = String::new();
        'word: while start < word.len() && word.len() <= LONGEST_WORD * 4 {
            let ends = word[start..]
                .char_indices()
                .map(|(at, c)| start + at + c.len_utf8());
            for end in ends.collect::<Vec<_>>().into_iter().rev() {
                candidate.clear();
                if start > 0 {
                    candidate.push_str("##");
                }
                candidate.push_str(&word[start..end]);
                if let Some(&number) = self.pieces.get(&candidate) {
                    numbers.push(number);
                    start = end;
                    continue 'word;
                }
            }
            break;
        }
        if start < word.len() {
            numbers.truncate(before);
            numbers.push(self.unknown);
        }
        word.clear();
    }
}

fn is_control(c: char) -> bool {
    c.is_control() || c == '\u{fffd}' || c == '\0'
}

/// Punctuation and ideographs are words of their own.
fn stands_alone(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}'
            | '\u{3008}'..='\u{3011}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}'
            | '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2ceaf}' | '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}'
            | '\u{bb}' | '\u{bf}')
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// The letter under an accent, for the letters of Latin alphabets.
fn without_accent(c: char) -> char {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ĥ' => 'h',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => 'i',
        'ĵ' => 'j',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' => 's',
        'ţ' | 'ť' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ŵ' => 'w',
        'ý' | 'ÿ' | 'ŷ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokenizer() -> WordPiece {
        let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\nhello\n,\nworld\ncafe\n中\n文";
        WordPiece::from_vocabulary(words).unwrap()
    }

    #[test]
    fn words_become_their_longest_pieces() {
        assert_eq!(
            tokenizer().encode("Hello, UNAFFABLE world", 99),
            [2, 7, 8, 4, 5, 6, 9, 3]
        );
    }

    #[test]
    fn accents_ideographs_and_unknown_words() {
        assert_eq!(
            tokenizer().encode("café 中文 xyz", 99),
            [2, 10, 11, 12, 1, 3]
        );
    }

    #[test]
    fn a_long_text_is_cut_and_still_ends() {
        let numbers = tokenizer().encode(&"hello ".repeat(1000), 16);
        assert_eq!(numbers.len(), 16);
        assert_eq!(numbers[15], 3);
        assert_eq!(tokenizer().encode("", 16), [2, 3]);
    }

    #[test]
    fn a_vocabulary_without_its_marks_is_refused() {
        assert!(
            WordPiece::from_vocabulary("a\nb")
                .unwrap_err()
                .contains("[UNK]")
        );
    }
}
