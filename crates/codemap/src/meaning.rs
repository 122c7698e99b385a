//! What stands for a symbol when its meaning is compared with that of a
//! question: a short text for a model to read, known by a hash, so that code
//! that moves, or is checked out twice, is read once.

use crate::index::{CodeIndex, NodeRef, is_test_path};
use crate::symbol::ContentHash;
use crate::words::parts;

/// How alike each symbol and a question are, as far as it is known.
pub type Likeness<'l> = &'l dyn Fn(&NodeRef) -> Option<f32>;

/// A text that stands for a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub hash: ContentHash,
    pub text: String,
}

/// Bytes of a comment and of a signature that are read: a model reads a few
/// hundred words at most, and the first say what the thing is for.
const OF_THE_DOC: usize = 500;
const OF_THE_SIGNATURE: usize = 300;

impl NodeRef {
    /// Its name in words, its comment and its signature. The path is left out,
    /// except of a file, which has no other name.
    pub(crate) fn description(&self) -> String {
        let symbol = &self.symbol;
        let mut text = String::new();
        let named = if self.is_file() {
            self.path.to_string()
        } else {
            self.qualified()
        };
        for part in named.split(|c: char| !c.is_alphanumeric() && c != '_') {
            for word in parts(part) {
                text.push_str(word);
                text.push(' ');
            }
        }
        text.push_str(". ");
        text.push_str(beginning(&symbol.doc, OF_THE_DOC));
        if !self.is_file() {
            text.push(' ');
            text.push_str(beginning(&symbol.signature, OF_THE_SIGNATURE));
        }
        text
    }
}

impl CodeIndex {
    /// What a model should read of this repository: each text once, at most so
    /// many, what the rest of the code leans on first and tests last.
    #[must_use]
    pub fn descriptions(&self, most: usize) -> Vec<Description> {
        let ranks = self.ranks();
        let standing = ranks.from(&[]);
        let mut nodes: Vec<(&NodeRef, bool, f64)> = Vec::new();
        for file in self.files.values() {
            let Ok(read) = &file.read else { continue };
            let rank = ranks.standing(&standing, &file.path, None);
            let is_test = is_test_path(&file.path);
            let known = read.nodes.iter();
            nodes.extend(
                known
                    .filter_map(|number| self.nodes[*number as usize].as_ref())
                    .map(|node| (node, is_test, rank)),
            );
        }
        nodes.sort_by(|one, other| one.1.cmp(&other.1).then(other.2.total_cmp(&one.2)));
        let mut seen = std::collections::HashSet::new();
        nodes
            .into_iter()
            .filter(|(node, ..)| seen.insert(node.described))
            .take(most)
            .map(|(node, ..)| Description {
                hash: node.described,
                text: node.description(),
            })
            .collect()
    }
}

fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use crate::index::tests::index;
    use crate::query::Match;

    const LEASE: &str = "//! Leases on resources.\n\n\
                         /// Makes it last longer.\n\
                         pub fn renewLease(until: &mut u64) { *until += 1; }\n";

    #[test]
    fn a_symbol_is_described_by_name_comment_and_signature() {
        let index = index(&[("src/lease.rs", LEASE)]);
        let texts: Vec<String> = index
            .descriptions(10)
            .into_iter()
            .map(|found| found.text)
            .collect();
        assert_eq!(
            texts,
            [
                "src lease rs . Leases on resources.",
                "renew Lease . Makes it last longer. pub fn renewLease(until: &mut u64)",
            ]
        );
    }

    #[test]
    fn code_that_is_there_twice_is_described_once_and_tests_last() {
        let copy = "/// Reads.\npub fn read() {}\n";
        let index = index(&[
            ("tests/b.rs", "/// Checks.\nfn checks() {}\n"),
            ("src/a.rs", copy),
            ("src/c.rs", copy),
        ]);
        let all = index.descriptions(10);
        let reads = all.iter().filter(|found| found.text.contains("Reads."));
        assert_eq!(reads.count(), 1);
        assert!(all.last().unwrap().text.contains("Checks."));
        assert_eq!(index.descriptions(2).len(), 2);
    }

    #[test]
    fn what_is_meant_is_found_without_a_word_in_common() {
        let index = index(&[
            ("src/lease.rs", LEASE),
            ("src/other.rs", "/// Reads.\npub fn read() {}\n"),
        ]);
        let alike = |node: &crate::NodeRef| {
            Some(if &*node.symbol.name == "renewLease" {
                0.9
            } else {
                0.7
            })
        };
        let hits = index
            .search_by("prolong the borrowing", None, 5, Some(&alike))
            .unwrap();
        assert_eq!(&*hits[0].node.symbol.name, "renewLease");
        assert_eq!(hits[0].matched, Match::Meaning);
        assert!(
            index
                .search("prolong the borrowing", None, 5)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_name_comes_before_whatever_is_alike() {
        let index = index(&[
            ("src/lease.rs", LEASE),
            ("src/other.rs", "/// Reads.\npub fn read() {}\n"),
        ]);
        let alike = |node: &crate::NodeRef| {
            Some(if &*node.symbol.name == "renewLease" {
                0.9
            } else {
                0.2
            })
        };
        let hits = index.search_by("read", None, 5, Some(&alike)).unwrap();
        assert_eq!(&*hits[0].node.symbol.name, "read");
    }
}
