//! One record as one line. The line is JSON for whoever reads it, and has a
//! fixed form for us, so that its parts are found without parsing it twice:
//!
//! ```text
//! {"seq":7,"group":[0,3],"at":"…","prev":"<64 hex>","type":"…","data":{…},"hash":"<64 hex>","crc":"<8 hex>"}
//! └──────────────────────────── hashed (SHA-256) ───────────────────────┘
//! └──────────────────────────── checked (CRC-32) ──────────────────────────────────────────┘
//! ```
//!
//! `prev` is the hash of the line before, zeros in the first. `group` is the
//! place of the record in its group and the size of the group. The checksum
//! finds accidents quickly; the hash, which through `prev` covers every line
//! before, finds everything else.

use std::fmt;
use std::str::FromStr;

use missiond_core::Timestamp;
use missiond_os::hex;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::catalogue::limits;
use crate::record::{Record, RecordBody, RecordKind};

/// The place of a record in its journal: 1, 2, 3 … A compaction leaves holes;
/// a place is never given twice.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Sequence(pub u64);

impl Sequence {
    /// Before every record.
    pub const START: Self = Self(0);

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A SHA-256, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(with = "String", inline)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// What the first record of a journal follows.
    pub const ZERO: Self = Self([0; 32]);

    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    fn hex(self) -> [u8; 64] {
        let mut out = [0; 64];
        hex::encode_into(&self.0, &mut out);
        out
    }

    fn from_hex(text: &[u8]) -> Option<Self> {
        hex::decode_array(text).map(Self)
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hex()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        Self::from_hex(text.as_bytes()).ok_or(InvalidDigest)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The end of a journal: what the next record follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub sequence: Sequence,
    pub hash: Digest,
    /// How many records there are.
    pub records: u64,
}

impl Head {
    /// Of a journal without records.
    pub const EMPTY: Self = Self {
        sequence: Sequence::START,
        hash: Digest::ZERO,
        records: 0,
    };
}

/// What is wrong with a line by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    #[error("it does not have the form of a record")]
    Form,
    #[error("its checksum does not match")]
    Checksum,
    #[error("its data is not what its type demands: {detail}")]
    Data { detail: String },
    #[error("it is longer than {} bytes", limits::LINE_BYTES)]
    TooLong,
}

/// A line whose form and checksum are right. Its parts point into it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub sequence: Sequence,
    /// The place in its group.
    pub index: u32,
    /// The size of its group.
    pub size: u32,
    pub kind: RecordKind,
    at: &'a [u8],
    previous: &'a [u8],
    data: &'a [u8],
    hash: &'a [u8],
    hashed: &'a [u8],
    bytes: &'a [u8],
}

const TAIL: usize = r#","hash":"","crc":""}"#.len() + 64 + 8;
const CRC_TAIL: usize = r#","crc":""}"#.len() + 8;

impl<'a> Line<'a> {
    /// Takes a line apart, given without its newline.
    pub fn parse(line: &'a [u8]) -> Result<Self, BadLine> {
        if line.len() > limits::LINE_BYTES {
            return Err(BadLine::TooLong);
        }
        let parsed = Self::split_fields(line).ok_or(BadLine::Form)?;
        let checked = &line[..line.len() - CRC_TAIL];
        let crc = &line[line.len() - 10..line.len() - 2];
        if hex8(crc32fast::hash(checked)) != crc {
            return Err(BadLine::Checksum);
        }
        Ok(parsed)
    }

    fn split_fields(line: &'a [u8]) -> Option<Self> {
        let hashed = line.get(..line.len().checked_sub(TAIL)?)?;
        let tail = &line[hashed.len()..];
        let hash = tail.strip_prefix(br#","hash":""#)?.get(..64)?;
        tail.get(9 + 64..)?
            .strip_prefix(br#"","crc":""#)?
            .get(8..)
            .filter(|rest| rest == br#""}"#)?;
        let rest = hashed.strip_prefix(br#"{"seq":"#)?;
        let (sequence, rest) = number(rest)?;
        let (index, rest) = number(rest.strip_prefix(br#","group":["#)?)?;
        let (size, rest) = number(rest.strip_prefix(b",")?)?;
        let (at, rest) = quoted(rest.strip_prefix(br#"],"at":""#)?)?;
        let (previous, rest) = quoted(rest.strip_prefix(br#","prev":""#)?)?;
        let (kind, rest) = quoted(rest.strip_prefix(br#","type":""#)?)?;
        let data = rest.strip_prefix(br#","data":"#)?;
        let (index, size) = (u32::try_from(index).ok()?, u32::try_from(size).ok()?);
        if index >= size || previous.len() != 64 {
            return None;
        }
        Some(Self {
            sequence: Sequence(sequence),
            index,
            size,
            kind: RecordKind::from_name(kind)?,
            at,
            previous,
            data,
            hash,
            hashed,
            bytes: line,
        })
    }

    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[must_use]
    pub const fn ends_group(&self) -> bool {
        self.index + 1 == self.size
    }

    /// Whether it says that it follows the line with this hash.
    #[must_use]
    pub fn follows(&self, previous: &Digest) -> bool {
        self.previous == previous.hex()
    }

    /// As [`Line::follows`], for a hash as it stands in a line.
    pub(crate) fn follows_hex(&self, previous: &[u8; 64]) -> bool {
        self.previous == previous
    }

    pub(crate) fn hash_hex(&self) -> [u8; 64] {
        self.hash.try_into().unwrap_or([0; 64])
    }

    /// The hash the line says it has.
    #[must_use]
    pub fn stated_hash(&self) -> Option<Digest> {
        Digest::from_hex(self.hash)
    }

    /// Computes the hash, or `None` when it is not the stated one.
    #[must_use]
    pub fn verified_hash(&self) -> Option<Digest> {
        Some(Digest::of(self.hashed)).filter(|hash| hash.hex() == self.hash)
    }

    /// Reads the record.
    pub fn record(&self) -> Result<Record, BadLine> {
        let bad = |error: serde_json::Error| BadLine::Data {
            detail: error.to_string(),
        };
        let at = std::str::from_utf8(self.at)
            .ok()
            .and_then(|at| at.parse().ok());
        Ok(Record {
            sequence: self.sequence,
            at: at.ok_or(BadLine::Form)?,
            body: RecordBody::read_data(self.kind, self.data).map_err(bad)?,
        })
    }
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // One way to write a number, so that a line has one form.
    if digits == 0 || digits > 19 || (text[0] == b'0' && digits > 1) {
        return None;
    }
    let value = text[..digits]
        .iter()
        .fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    Some((value, &text[digits..]))
}

fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'"', text)?;
    Some((&text[..end], &text[end + 1..]))
}

fn hex8(value: u32) -> [u8; 8] {
    let mut out = [0; 8];
    for (place, digit) in out.iter_mut().rev().enumerate() {
        *digit = HEX[((value >> (4 * place)) & 15) as usize];
    }
    out
}

/// The records cannot be written as a group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadGroup {
    #[error("a group has 1 to {} records, not {found}", limits::GROUP_RECORDS)]
    Size { found: usize },
    #[error(
        "a {kind} of {bytes} bytes is larger than the {} a record may have",
        limits::LINE_BYTES
    )]
    TooLarge { kind: RecordKind, bytes: usize },
    #[error("a {kind} cannot be written: {detail}")]
    Encoding { kind: RecordKind, detail: String },
}

/// Appends the lines of a group to `out`, each with its newline, and returns the
/// new head. On an error `out` is as it was.
pub fn encode_group(
    head: Head,
    at: Timestamp,
    bodies: &[RecordBody],
    out: &mut Vec<u8>,
) -> Result<Head, BadGroup> {
    if bodies.is_empty() || bodies.len() > limits::GROUP_RECORDS {
        return Err(BadGroup::Size {
            found: bodies.len(),
        });
    }
    let began = out.len();
    let mut head = head;
    for (index, body) in bodies.iter().enumerate() {
        let sequence = head.sequence.next();
        match encode_line(head, sequence, (index, bodies.len()), at, body, out) {
            Ok(hash) => {
                head = Head {
                    sequence,
                    hash,
                    records: head.records + 1,
                };
            }
            Err(error) => {
                out.truncate(began);
                return Err(error);
            }
        }
    }
    Ok(head)
}

/// Writes one record as the line after `previous`.
pub(crate) fn encode_line(
    previous: Head,
    sequence: Sequence,
    (index, size): (usize, usize),
    at: Timestamp,
    body: &RecordBody,
    out: &mut Vec<u8>,
) -> Result<Digest, BadGroup> {
    let began = out.len();
    let encoding = |detail: String| BadGroup::Encoding {
        kind: body.kind(),
        detail,
    };
    let mut start = String::with_capacity(200);
    fmt::write(
        &mut start,
        format_args!(
            r#"{{"seq":{sequence},"group":[{index},{size}],"at":"{at}","prev":"{}","type":"{}","data":"#,
            previous.hash,
            body.kind().name(),
        ),
    )
    .map_err(|error| encoding(error.to_string()))?;
    out.extend_from_slice(start.as_bytes());
    let data = out.len();
    body.write_data(out)
        .map_err(|error| encoding(error.to_string()))?;
    // Here and nowhere else: whatever is recorded becomes a line by this.
    if let Some(masked) = missiond_secrets::mask_written(&out[data..]) {
        out.truncate(data);
        out.extend_from_slice(&masked);
    }
    let hash = Digest::of(&out[began..]);
    out.extend_from_slice(br#","hash":""#);
    out.extend_from_slice(&hash.hex());
    out.push(b'"');
    let crc = crc32fast::hash(&out[began..]);
    out.extend_from_slice(br#","crc":""#);
    out.extend_from_slice(&hex8(crc));
    out.extend_from_slice(b"\"}\n");
    let bytes = out.len() - began - 1;
    if bytes > limits::LINE_BYTES {
        return Err(BadGroup::TooLarge {
            kind: body.kind(),
            bytes,
        });
    }
    Ok(hash)
}
