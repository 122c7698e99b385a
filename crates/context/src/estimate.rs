//! How many tokens a text is, without any model's tokenizer.
//!
//! Which model reads a text is not known here, and two of the three vendors keep
//! their tokenizers to themselves. The costs below were fitted to the largest
//! count that three public tokenizers give the same text, and raised by a tenth:
//! code, data, prose and fourteen scripts. How far it is off is measured by the
//! example `calibration` and said in `docs/how/context.md`.
//!
//! The estimate of a text is the sum of the estimates of its lines, so a text put
//! together from parts costs what the parts cost.

/// Thousandths of a token.
const PER_TOKEN: usize = 1000;
const LINE: usize = 1100;
const WORD: usize = 1050;
/// Letters of a word before its next ones cost extra.
const SHORT_WORD: usize = 7;
const LETTER_MORE: usize = 600;
/// Up to three digits.
const DIGITS: usize = 1550;
const PUNCTUATION: usize = 690;
/// The same sign once more, as in a rule.
const REPEATED: usize = 80;
/// More than one blank, or blanks at the end of a line.
const BLANKS: usize = 740;

/// More tokens than most tokenizers make of most texts.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    thousandths(text).div_ceil(PER_TOKEN)
}

/// The same before it is rounded up: the parts of a text add up to it.
pub(crate) fn thousandths(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| of_line(line.strip_suffix('\n').unwrap_or(line)))
        .sum()
}

fn of_line(line: &str) -> usize {
    let mut cost = LINE;
    let mut rest = line.chars().peekable();
    let mut before = '\n';
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {
                let mut blanks = 1;
                while rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {
                    blanks += 1;
                }
                if blanks > 1 || rest.peek().is_none() {
                    cost += BLANKS;
                }
            }
            _ if c.is_ascii_alphabetic() => {
                let (mut letters, mut last) = (1, c);
                // `camelCase` is two words.
                while let Some(next) = rest.next_if(|next| {
                    next.is_ascii_alphabetic()
                        && !(next.is_ascii_uppercase() && last.is_ascii_lowercase())
                }) {
                    letters += 1;
                    last = next;
                }
                cost += WORD + LETTER_MORE * usize::saturating_sub(letters, SHORT_WORD);
            }
            _ if c.is_ascii_digit() => {
                let mut digits = 1_usize;
                while rest.next_if(char::is_ascii_digit).is_some() {
                    digits += 1;
                }
                cost += DIGITS * digits.div_ceil(3);
            }
            _ if c.is_ascii() => cost += if c == before { REPEATED } else { PUNCTUATION },
            _ => cost += of_other(c),
        }
        before = c;
    }
    cost
}

/// One character beyond ASCII.
fn of_other(c: char) -> usize {
    match u32::from(c) {
        0x80..=0x24f | 0x1e00..=0x1eff if c.is_alphabetic() => 1900,
        0x370..=0x3ff => 1300,
        // Cyrillic.
        0x400..=0x52f => 750,
        // Hebrew and Arabic.
        0x590..=0x7ff => 1270,
        // The scripts of India and South-East Asia.
        0x900..=0xfff => 1900,
        // Hiragana and katakana.
        0x3040..=0x30ff => 1050,
        0x1100..=0x11ff | 0xac00..=0xd7af => 1400,
        // Han and what is written with it.
        0x3000..=0x303f | 0x3400..=0x9fff | 0xf900..=0xfaff | 0xff00..=0xffef => 1350,
        0x2_0000..=0x3_1fff => 2700,
        _ => 2200,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    /// A text with what the tokenizers o200k, cl100k and Claude 2's make of it.
    #[derive(Deserialize)]
    struct Counted {
        kind: String,
        text: String,
        counts: [usize; 3],
    }

    /// The texts are not among those the costs were fitted to.
    #[test]
    fn it_is_near_what_real_tokenizers_make_of_a_text() {
        let counted: Vec<Counted> =
            serde_json::from_str(include_str!("../calibration/samples.json")).unwrap();
        assert!(counted.len() >= 12);
        for Counted { kind, text, counts } in counted {
            let most = *counts.iter().max().unwrap();
            let estimate = estimated_tokens(&text);
            let off = estimate as f64 / most as f64 - 1.0;
            assert!(
                (-0.2..=0.6).contains(&off),
                "{kind}: {estimate} for {counts:?}"
            );
        }
    }

    #[test]
    fn an_empty_text_costs_nothing() {
        assert_eq!(estimated_tokens(""), 0);
    }

    proptest! {
        #[test]
        fn lines_add_up(parts in prop::collection::vec("[^\n]{0,40}\n", 0..8)) {
            let whole: usize = parts.iter().map(|part| thousandths(part)).sum();
            prop_assert_eq!(thousandths(&parts.concat()), whole);
        }

        #[test]
        fn every_character_counts_for_something_or_belongs_to_a_word(text in "\\PC{1,60}") {
            prop_assert!(estimated_tokens(&text) >= 1);
            // No more than the bytes it has and the line it stands on.
            prop_assert!(estimated_tokens(&text) <= 2 * text.len() + 2);
        }
    }
}
