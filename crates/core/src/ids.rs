//! Ids of things, one type each.
//!
//! An id is a UUIDv7 (so ids sort by creation time) written as a prefix that
//! names the kind and 26 characters of Crockford base32: `task_01jq8v…`. The
//! written form can be selected with a double click, and pasting a slot's id
//! where a task's is wanted is refused when it is parsed.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// What an [`Id`] identifies. The markers are uninhabited: only the type counts.
pub trait Kind {
    const PREFIX: &'static str;
}

/// An id of one kind of thing.
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

/// The text is not an id of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the kind `{kind}`: expected {kind}_ and 26 letters and digits")]
pub struct InvalidId {
    text: String,
    kind: &'static str,
}

impl<K: Kind> Id<K> {
    /// A new id, later than every id made before it on this machine.
    #[must_use]
    pub fn generate() -> Self {
        Self::from_uuid(Uuid::now_v7())
    }

    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self {
            uuid,
            kind: PhantomData,
        }
    }

    #[must_use]
    pub const fn uuid(self) -> Uuid {
        self.uuid
    }
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_LEN: usize = 26;

fn encode(value: u128) -> [u8; ENCODED_LEN] {
    let mut out = [b'0'; ENCODED_LEN];
    for (place, slot) in out.iter_mut().rev().enumerate() {
        *slot = ALPHABET[((value >> (5 * place)) & 31) as usize];
    }
    out
}

/// The digit each byte stands for; 32 for those that are none. A journal of a
/// million records has as many ids to read.
const DIGITS: [u8; 256] = {
    let mut digits = [32; 256];
    let mut digit = 0;
    while digit < 32 {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
};

fn decode(text: &str) -> Option<u128> {
    // 26 × 5 = 130 bits: the first character may only use three of its five.
    if text.len() != ENCODED_LEN || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |value, byte| {
        let digit = DIGITS[usize::from(byte)];
        (digit < 32).then_some((value << 5) | u128::from(digit))
    })
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::PREFIX)?;
        f.write_str("_")?;
        // In one piece: ids are written with every event, and a serializer
        // looks at each piece it is given for characters to escape.
        let digits = encode(self.uuid.as_u128());
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(decode)
            .map(|value| Self::from_uuid(Uuid::from_u128(value)))
            .ok_or_else(|| InvalidId {
                text: text.chars().take(64).collect(),
                kind: K::PREFIX,
            })
    }
}

impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Derives would demand the bounds of `K`, which is never constructed.
impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written(PhantomData))
    }
}

/// Reads an id where it stands, without a copy of its text.
struct Written<K>(PhantomData<fn() -> K>);

impl<K: Kind> Visitor<'_> for Written<K> {
    type Value = Id<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an id of the kind `{}`", K::PREFIX)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id<K>, E> {
        text.parse().map_err(E::custom)
    }
}

impl<K: Kind> JsonSchema for Id<K> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}_id", K::PREFIX).into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": format!("^{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$", K::PREFIX),
        })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $id:ident, $kind:ident = $prefix:literal;)*) => {
        /// The markers behind the id types.
        pub mod kind {
            $(
                #[derive(Debug)]
                pub enum $kind {}
                impl super::Kind for $kind {
                    const PREFIX: &'static str = $prefix;
                }
            )*
        }
        $($(#[$doc])* pub type $id = Id<kind::$kind>;)*
    };
}

kinds! {
    /// One start of a daemon; a restart is a new one.
    DaemonId, Daemon = "daemon";
    /// A place an agent runs.
    SlotId, Slot = "slot";
    /// A submitted prompt, queued for a slot.
    TaskId, Task = "task";
    /// A card on the board.
    BoardTaskId, BoardTask = "card";
    /// One try of a card.
    AttemptId, Attempt = "attempt";
    /// One run of an agent, with its journal.
    ExecutionId, Execution = "exec";
    /// A conversation of one agent CLI.
    ConversationId, Conversation = "conv";
    /// Something that was seen or said of an execution.
    ObservationId, Observation = "obs";
    /// A message to an agent.
    MessageId, Message = "msg";
    /// One exchange within a conversation.
    TurnId, Turn = "turn";
    /// Something a person or the cascade is asked.
    QuestionId, Question = "question";
    /// An entry of the knowledge base.
    EntryId, Entry = "entry";
    /// Something that went wrong and wants attention.
    IncidentId, Incident = "incident";
    /// What lets somebody in over HTTP: the login of a browser, or a token.
    AccessId, Access = "access";
}

/// Grows with every claim of a resource. A write that presents an older token
/// than the newest claim's is refused, however late it arrives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct FencingToken(pub i64);

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_id_survives_its_written_form(value: u128) {
            let id = TaskId::from_uuid(Uuid::from_u128(value));
            prop_assert_eq!(id.to_string().parse::<TaskId>(), Ok(id));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,64}") {
            let _ = text.parse::<SlotId>();
            let _ = format!("slot_{text}").parse::<SlotId>();
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let slot = SlotId::generate().to_string();
        let error = slot.parse::<TaskId>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("`{slot}` is not an id of the kind `task`")),
            "{error}"
        );
    }

    #[test]
    fn ids_sort_by_creation_also_as_text() {
        let ids: Vec<_> = (0..1000).map(|_| EntryId::generate()).collect();
        let mut texts: Vec<_> = ids.iter().map(ToString::to_string).collect();
        assert!(ids.is_sorted());
        texts.sort();
        assert_eq!(
            texts,
            ids.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_value_above_128_bits_is_refused() {
        assert!("task_7zzzzzzzzzzzzzzzzzzzzzzzzz".parse::<TaskId>().is_ok());
        assert!("task_80000000000000000000000000".parse::<TaskId>().is_err());
    }
}
