//! The lines of the log. Each is chained to the one before by a hash, whether it is a record
//! or a head; a head says how many records there are and is signed, and with it everything
//! before it is.
//!
//! ```text
//! {"seq":7,"at":"…","kind":"decision",…,"prev":"<64 hex>","hash":"<64 hex>"}
//! {"head":7,"at":"…","key":"<16 hex>","anchored":5,"prev":"<64 hex>","hash":"<64 hex>","sig":"<128 hex>"}
//! ```
//!
//! `hash` is the SHA-256 of the line before it, `sig` the signature of that hash. `anchored`
//! says how many records the database and the file beside the log were known to have anchored
//! by then: if one of them knows of fewer later on, it was set back.

use missiond_core::{AuditRecord, Timestamp};
use missiond_os::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::keys::{FOR_HEAD, PublicKey, SigningKey};

/// The longest line that is read.
pub const MAX_LINE: usize = 64 * 1024;

pub(crate) type Hash = [u8; 32];

/// What the first line follows.
pub(crate) const BEGINNING: Hash = [0; 32];

/// A signed statement of where the chain is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// How many records there are.
    pub records: u64,
    pub at: Timestamp,
    /// The key's name.
    pub key: String,
    /// Of those records, how many were anchored elsewhere by then.
    pub anchored: u64,
    pub(crate) prev: Hash,
    pub(crate) hash: Hash,
    pub(crate) signature: [u8; 64],
}

impl Head {
    /// The head that a line is.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        match Line::parse(line.trim_end().as_bytes())? {
            Line::Head(head) => Some(head),
            Line::Record { .. } => None,
        }
    }

    /// As a line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = Vec::new();
        HeadBody::of(self).write(&mut line, &self.prev);
        finish(&mut line, &self.hash, Some(&self.signature));
        line.pop();
        String::from_utf8(line).unwrap_or_default()
    }

    /// What it is known by.
    #[must_use]
    pub fn hash(&self) -> String {
        hex::encode(&self.hash)
    }

    /// The same as bytes.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.hash
    }

    pub(crate) fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.key == key.name() && key.verifies(FOR_HEAD, &self.hash, &self.signature)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadBody {
    head: u64,
    at: Timestamp,
    key: String,
    anchored: u64,
}

impl HeadBody {
    fn of(head: &Head) -> Self {
        Self {
            head: head.records,
            at: head.at,
            key: head.key.clone(),
            anchored: head.anchored,
        }
    }

    fn write(&self, out: &mut Vec<u8>, prev: &Hash) {
        // Numbers, a time and digits: there is nothing in it that could not be written.
        let _ = serde_json::to_writer(&mut *out, self);
        chain_to(out, prev);
    }
}

/// A line that has the form of one. Whether its hash is right is asked of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Line {
    Record {
        record: Box<AuditRecord>,
        prev: Hash,
        hash: Hash,
    },
    Head(Head),
}

const PREV: &[u8] = b",\"prev\":\"";
const HASH: &[u8] = b",\"hash\":\"";
const SIG: &[u8] = b",\"sig\":\"";

impl Line {
    /// Reads a line without its end.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"}")?;
        let (line, signature) = match cut(line, SIG, 128) {
            Some((rest, digits)) => (rest, Some(hex::decode_array::<64>(digits)?)),
            None => (line, None),
        };
        let (line, hash) = cut(line, HASH, 64)?;
        let (body, prev) = cut(line, PREV, 64)?;
        let (hash, prev) = (hex::decode_array(hash)?, hex::decode_array(prev)?);
        let body = [body, b"}"].concat();
        Some(match signature {
            None => Self::Record {
                record: serde_json::from_slice(&body).ok()?,
                prev,
                hash,
            },
            Some(signature) => {
                let body: HeadBody = serde_json::from_slice(&body).ok()?;
                Self::Head(Head {
                    records: body.head,
                    at: body.at,
                    key: body.key,
                    anchored: body.anchored,
                    prev,
                    hash,
                    signature,
                })
            }
        })
    }

    pub(crate) fn prev(&self) -> &Hash {
        match self {
            Self::Record { prev, .. } => prev,
            Self::Head(head) => &head.prev,
        }
    }

    pub(crate) fn hash(&self) -> &Hash {
        match self {
            Self::Record { hash, .. } => hash,
            Self::Head(head) => &head.hash,
        }
    }
}

/// Whether the hash of a line is that of what stands before it.
pub(crate) fn hash_is_right(line: &[u8], hash: &Hash) -> bool {
    let Some(line) = line.strip_suffix(b"}") else {
        return false;
    };
    let line = cut(line, SIG, 128).map_or(line, |(rest, _)| rest);
    cut(line, HASH, 64).is_some_and(|(body, _)| Sha256::digest(body)[..] == hash[..])
}

/// What stands before a field at the end, and the digits of the field.
fn cut<'l>(line: &'l [u8], name: &[u8], digits: usize) -> Option<(&'l [u8], &'l [u8])> {
    let line = line.strip_suffix(b"\"")?;
    let (rest, value) = line.split_at_checked(line.len().checked_sub(digits)?)?;
    Some((rest.strip_suffix(name)?, value))
}

/// Where a chain is, and what is added to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) records: u64,
    pub(crate) hash: Hash,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self {
        records: 0,
        hash: BEGINNING,
    };

    /// Adds a record, which must be the next.
    pub(crate) fn add(
        &mut self,
        record: &AuditRecord,
        out: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let from = out.len();
        serde_json::to_writer(&mut *out, record)?;
        chain_to(out, &self.hash);
        self.hash = Sha256::digest(&out[from..]).into();
        finish(out, &self.hash, None);
        self.records = record.seq;
        Ok(())
    }

    /// Adds a head, signed.
    pub(crate) fn sign(
        &mut self,
        key: &SigningKey,
        at: Timestamp,
        anchored: u64,
        out: &mut Vec<u8>,
    ) -> Head {
        let mut head = Head {
            records: self.records,
            at,
            key: key.public().name(),
            anchored,
            prev: self.hash,
            hash: BEGINNING,
            signature: [0; 64],
        };
        let from = out.len();
        HeadBody::of(&head).write(out, &self.hash);
        head.hash = Sha256::digest(&out[from..]).into();
        head.signature = key.sign(FOR_HEAD, &head.hash);
        self.hash = head.hash;
        finish(out, &head.hash, Some(&head.signature));
        head
    }
}

/// Opens the object that ends here again, and says what it follows.
fn chain_to(out: &mut Vec<u8>, prev: &Hash) {
    out.pop();
    field(out, PREV, prev);
}

fn finish(out: &mut Vec<u8>, hash: &Hash, signature: Option<&[u8; 64]>) {
    field(out, HASH, hash);
    if let Some(signature) = signature {
        field(out, SIG, signature);
    }
    out.extend_from_slice(b"}\n");
}

fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(hex::encode(value).as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use missiond_core::{AuditKind, Principal};

    use super::*;
    use crate::Entry;

    #[test]
    fn what_is_written_is_read_again() {
        let key = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
        let at = "2026-01-04T12:00:00Z".parse().unwrap();
        let mut chain = Chain::EMPTY;
        let mut lines = Vec::new();
        let entry = Entry::new(AuditKind::Call, &Principal::Person, "permission_add")
            .about("a \"quoted\" word, \"hash\":\"no\"")
            .exact(b"{}");
        let record = entry.record(1, at);
        chain.add(&record, &mut lines).unwrap();
        let head = chain.sign(&key, at, 0, &mut lines);
        let lines: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
        let [first, second, []] = lines[..] else {
            panic!("two lines")
        };
        let parsed = Line::parse(first).unwrap();
        assert!(hash_is_right(first, parsed.hash()));
        assert_eq!(*parsed.prev(), BEGINNING);
        assert!(matches!(&parsed, Line::Record { record: read, .. } if **read == record));
        assert!(hash_is_right(second, &head.hash));
        assert_eq!(head.prev, *parsed.hash());
        assert_eq!(Line::parse(second), Some(Line::Head(head.clone())));
        assert!(head.is_signed_by(&key.public()));
        assert_eq!(head.line().as_bytes(), second);
        assert_eq!(Head::parse(&head.line()), Some(head.clone()));
        let other = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
        assert!(!head.is_signed_by(&other.public()));
    }
}
