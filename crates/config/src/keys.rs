//! How a key is declared: once, in the section it belongs to.
//!
//! [`section!`] makes of a list of keys the struct that holds their values, its
//! defaults, the rows of [`KEYS`](crate::KEYS) and what a reload changes. The checks
//! of ranges, `mission config keys` and `docs/reference/configuration.md` read those rows, so
//! that none of them can say something else.

use std::fmt;
use std::ops::RangeInclusive;

use missiond_core::{ConfigKind, excerpt};
use serde_json::Value as Json;
use toml::de::DeValue;

/// What is declared of a key beside its type and default.
#[derive(Debug)]
pub struct KeySpec {
    /// With its section: `ipc.max_connections`.
    pub key: &'static str,
    pub reload: Reload,
    pub range: Option<Range>,
    pub kind: ConfigKind,
    /// The words it takes, when it takes no others.
    pub choices: &'static [&'static str],
    /// What people are shown of it; none when nothing of it is secret.
    pub mask: Option<fn(&str) -> String>,
    /// What it means, without its range.
    pub sentence: &'static str,
}

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// At `mission daemon reload`.
    Live,
    Restart,
}

/// What a number may be: the value itself, each of a list, or the number in each
/// `name=number` of a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub min: f64,
    pub max: f64,
}

/// The type of a key, by the kind of its values. A section says it of its own types
/// with `key_types!`.
pub(crate) trait KeyType {
    const KIND: ConfigKind;
}

macro_rules! key_types {
    ($($kind:ident: $($Type:ty),+;)+) => {
        $($(impl $crate::keys::KeyType for $Type {
            const KIND: missiond_core::ConfigKind = missiond_core::ConfigKind::$kind;
        })+)+
    };
}

pub(crate) use key_types;

key_types! {
    Boolean: bool;
    Integer: u32, u64;
    Number: f64;
    Text: String, std::net::SocketAddr, missiond_core::CliEngine, missiond_core::ReviewGate;
    List: Vec<String>, Vec<u16>, [f64; 2];
}

impl KeySpec {
    /// A value as people and programs are shown it: without what is secret of it.
    #[must_use]
    pub fn public(&self, value: &Json) -> Json {
        match (self.mask, value) {
            (Some(mask), Json::String(text)) if !text.is_empty() => Json::String(mask(text)),
            _ => value.clone(),
        }
    }

    /// Says what is wrong with a value as it stands in the file, in words of people.
    /// What only the type of the key knows is left to it.
    pub(crate) fn check(&self, value: &DeValue<'_>) -> Result<(), String> {
        if let Some(range) = self.range {
            range.check(value)?;
        }
        let wanted = match (self.kind, value) {
            (ConfigKind::Boolean, DeValue::Boolean(_))
            | (ConfigKind::Integer, DeValue::Integer(_))
            | (ConfigKind::Number, DeValue::Integer(_) | DeValue::Float(_))
            | (ConfigKind::List | ConfigKind::Tables, DeValue::Array(_)) => return Ok(()),
            (ConfigKind::Text, DeValue::String(text)) => return self.check_choice(text),
            (ConfigKind::Boolean, _) => "true or false",
            (ConfigKind::Integer, _) => "a whole number",
            (ConfigKind::Number, _) => "a number",
            (ConfigKind::Text, _) => "a text in quotes",
            (ConfigKind::List | ConfigKind::Tables, _) => "a list in brackets",
        };
        let given = match value {
            DeValue::String(text) => format!("the text `{}`", excerpt(text, 60)),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        Err(format!("must be {wanted}, but is {given}"))
    }

    fn check_choice(&self, text: &str) -> Result<(), String> {
        if self.choices.is_empty() || self.choices.contains(&text) {
            return Ok(());
        }
        let words: Vec<_> = self
            .choices
            .iter()
            .map(|word| format!("`{word}`"))
            .collect();
        Err(format!(
            "must be one of {}, but is `{}`",
            words.join(", "),
            excerpt(text, 60)
        ))
    }

    /// What it means and what it may be.
    #[must_use]
    pub fn description(&self) -> String {
        match self.range {
            Some(range) => format!("{} From {range}.", self.sentence),
            None => self.sentence.to_owned(),
        }
    }
}

impl Reload {
    /// Which of two values is in force after the file was read again.
    pub(crate) fn in_force<'a, T>(self, running: &'a T, new: &'a T) -> &'a T {
        match self {
            Self::Live => new,
            Self::Restart => running,
        }
    }
}

impl Range {
    pub(crate) fn new<N: Into<f64>>(range: RangeInclusive<N>) -> Self {
        let (min, max) = range.into_inner();
        Self {
            min: min.into(),
            max: max.into(),
        }
    }

    /// Says what is wrong with a value as it stands in the file. What is no number
    /// is left to the type of the key.
    pub(crate) fn check(self, value: &DeValue<'_>) -> Result<(), String> {
        let (written, number) = match value {
            DeValue::Array(values) => {
                let mut values = values.iter().map(|value| value.get_ref());
                return values.try_for_each(|value| self.check(value));
            }
            DeValue::Integer(integer) => {
                let number = i128::from_str_radix(integer.as_str(), integer.radix());
                (integer.to_string(), number.ok().map(|number| number as f64))
            }
            DeValue::Float(float) => (float.to_string(), float.as_str().parse().ok()),
            DeValue::String(text) => {
                let number = text.split_once('=').map_or("", |(_, number)| number.trim());
                (number.to_owned(), number.parse().ok())
            }
            _ => return Ok(()),
        };
        match number {
            Some(number) if !(self.min..=self.max).contains(&number) => Err(format!(
                "must be between {} and {}, but is {written}",
                self.min, self.max
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

/// What a check of values has against one of them.
#[derive(Debug)]
pub(crate) struct InvalidValue {
    pub(crate) key: &'static str,
    /// Goes on where the name of the key ends.
    pub(crate) message: String,
}

impl InvalidValue {
    pub(crate) fn new(key: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { key, message }
    }
}

/// Declares a section of the configuration:
///
/// ```text
/// section! {
///     /// What the section is about.
///     pub struct IpcConfig: "ipc." {
///         /// The sentence that `mission config keys` prints; the range is added to it.
///         live max_connections: u32 = 512, in 1..=10_000;
///         restart another: bool = false;
///         live level: Level = Level::Info, one of ["info", "debug"];
///         live address: String = String::new(), shown as without_password;
///         sections { inner: InnerConfig }
///     }
/// }
/// ```
///
/// `live` and `restart` are the two cases of [`Reload`]. A default is any expression,
/// a range any inclusive range of numbers; a test holds the words of a choice against
/// the type. `shown as` is the one place that says what of a value is secret. Sections
/// within come last.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        pub struct $Section:ident: $prefix:literal {
            $(
                $(#[doc = $sentence:literal])+
                $reload:ident $key:ident: $Type:ty = $default:expr
                    $(, in $range:expr)? $(, one of $choices:expr)? $(, shown as $mask:expr)?;
            )*
            $(sections { $($inner:ident: $Inner:ty),+ $(,)? })?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Section {
            $(
                $(#[doc = $sentence])+
                pub $key: $Type,
            )*
            $($(pub $inner: $Inner,)+)?
        }

        impl Default for $Section {
            fn default() -> Self {
                Self {
                    $($key: $default,)*
                    $($($inner: Default::default(),)+)?
                }
            }
        }

        impl $Section {
            pub(crate) fn declare(keys: &mut Vec<$crate::keys::KeySpec>) {
                $(keys.push($crate::keys::KeySpec {
                    key: concat!($prefix, stringify!($key)),
                    reload: $crate::keys::section!(@reload $reload),
                    range: $crate::keys::section!(@range $($range)?),
                    kind: <$Type as $crate::keys::KeyType>::KIND,
                    choices: $crate::keys::section!(@choices $($choices)?),
                    mask: $crate::keys::section!(@mask $($mask)?),
                    sentence: concat!($($sentence),+).trim_ascii(),
                });)*
                $($(<$Inner>::declare(keys);)+)?
            }

            /// What is in force after `new` was read: keys that wait for a restart
            /// keep their running values.
            #[must_use]
            pub fn after_reload(&self, new: &Self) -> Self {
                Self {
                    $($key: {
                        let reload = $crate::keys::section!(@reload $reload);
                        reload.in_force(&self.$key, &new.$key).clone()
                    },)*
                    $($($inner: self.$inner.after_reload(&new.$inner),)+)?
                }
            }
        }
    };
    (@reload live) => { $crate::keys::Reload::Live };
    (@reload restart) => { $crate::keys::Reload::Restart };
    (@range) => { None };
    (@mask) => { None };
    (@mask $mask:expr) => { Some($mask) };
    (@choices) => { &[] };
    (@choices $choices:expr) => { &$choices };
    (@range $range:expr) => { Some($crate::keys::Range::new($range)) };
}

pub(crate) use section;
