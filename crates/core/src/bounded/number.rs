//! Whole numbers with their range in the type.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::OutOfBounds;

/// The largest whole number that every reader of JSON reads exactly.
pub const MAX_EXACT: i64 = (1 << 53) - 1;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Bounded<const MIN: i64, const MAX: i64>(i64);

/// A whole number from `MIN` to `MAX`, which is `DEFAULT` when it is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BoundedOr<const MIN: i64, const MAX: i64, const DEFAULT: i64>(Bounded<MIN, MAX>);

/// At most how many are wanted.
pub type Limit<const MAX: i64, const DEFAULT: i64> = BoundedOr<1, MAX, DEFAULT>;

impl<const MIN: i64, const MAX: i64> Bounded<MIN, MAX> {
    pub const MIN: i64 = MIN;
    pub const MAX: i64 = MAX;
    pub const LARGEST: Self = Self(MAX);

    pub fn new(number: impl Into<i64>) -> Result<Self, OutOfBounds> {
        let number = number.into();
        within(number.into(), MIN, MAX).map(Self)
    }

    /// The number if it is in the range, else the end of the range it is beyond.
    #[must_use]
    pub fn clamped(number: i64) -> Self {
        Self(number.clamp(MIN, MAX))
    }

    /// A number that is written down in the program: outside its range it does
    /// not compile.
    #[must_use]
    pub const fn of<const NUMBER: i64>() -> Self {
        const { assert!(MIN <= NUMBER && NUMBER <= MAX) };
        Self(NUMBER)
    }

    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn to_u16(self) -> u16 {
        const { assert!(MIN >= 0 && MAX <= u16::MAX as i64) };
        self.0 as u16
    }

    #[must_use]
    pub const fn to_u32(self) -> u32 {
        const { assert!(MIN >= 0 && MAX <= u32::MAX as i64) };
        self.0 as u32
    }

    #[must_use]
    pub const fn to_u64(self) -> u64 {
        const { assert!(MIN >= 0) };
        self.0 as u64
    }

    #[must_use]
    pub const fn to_usize(self) -> usize {
        self.to_u32() as usize
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> BoundedOr<MIN, MAX, DEFAULT> {
    pub const DEFAULT: Self = Self(Bounded::of::<DEFAULT>());
    pub const LARGEST: Bounded<MIN, MAX> = Bounded::LARGEST;

    pub fn new(number: impl Into<i64>) -> Result<Self, OutOfBounds> {
        Bounded::new(number).map(Self)
    }

    /// See [`Bounded::clamped`].
    #[must_use]
    pub fn clamped(number: i64) -> Self {
        Self(Bounded::clamped(number))
    }

    /// See [`Bounded::of`].
    #[must_use]
    pub const fn of<const NUMBER: i64>() -> Self {
        Self(Bounded::of::<NUMBER>())
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> From<Bounded<MIN, MAX>>
    for BoundedOr<MIN, MAX, DEFAULT>
{
    fn from(number: Bounded<MIN, MAX>) -> Self {
        Self(number)
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> Default for BoundedOr<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> Deref for BoundedOr<MIN, MAX, DEFAULT> {
    type Target = Bounded<MIN, MAX>;

    fn deref(&self) -> &Bounded<MIN, MAX> {
        &self.0
    }
}

fn within(number: i128, min: i64, max: i64) -> Result<i64, OutOfBounds> {
    match i64::try_from(number) {
        Ok(number) if min <= number && number <= max => Ok(number),
        _ => Err(OutOfBounds::Number {
            found: number.to_string(),
            min,
            max,
        }),
    }
}

fn parse(text: &str, min: i64, max: i64) -> Result<i64, OutOfBounds> {
    let number = text.parse::<i128>().map_err(|_| OutOfBounds::NotANumber {
        found: text.chars().take(64).collect(),
        min,
        max,
    })?;
    within(number, min, max)
}

impl<const MIN: i64, const MAX: i64> fmt::Debug for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> fmt::Debug
    for BoundedOr<MIN, MAX, DEFAULT>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MIN: i64, const MAX: i64> fmt::Display for Bounded<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> fmt::Display
    for BoundedOr<MIN, MAX, DEFAULT>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl<const MIN: i64, const MAX: i64> FromStr for Bounded<MIN, MAX> {
    type Err = OutOfBounds;

    fn from_str(text: &str) -> Result<Self, OutOfBounds> {
        parse(text, MIN, MAX).map(Self)
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> FromStr for BoundedOr<MIN, MAX, DEFAULT> {
    type Err = OutOfBounds;

    fn from_str(text: &str) -> Result<Self, OutOfBounds> {
        text.parse().map(Self)
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = NumberVisitor { min: MIN, max: MAX };
        deserializer.deserialize_i64(visitor).map(Self)
    }
}

impl<'de, const MIN: i64, const MAX: i64, const DEFAULT: i64> Deserialize<'de>
    for BoundedOr<MIN, MAX, DEFAULT>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = NumberVisitor { min: MIN, max: MAX };
        let given = deserializer.deserialize_option(OptionalNumberVisitor(visitor))?;
        Ok(given.map_or(Self::DEFAULT, |number| Self(Bounded(number))))
    }
}

/// Reads a number of any range: one visitor for all of them is compiled once, and
/// refuses where the number stands, so that an error tells its place.
struct NumberVisitor {
    min: i64,
    max: i64,
}

impl NumberVisitor {
    fn accept<E: Error>(&self, number: i128) -> Result<i64, E> {
        within(number, self.min, self.max).map_err(E::custom)
    }
}

impl Visitor<'_> for NumberVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.min, self.max)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        self.accept(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        self.accept(number.into())
    }

    /// To JSON Schema 100.0 is a whole number, and some clients write all numbers so.
    fn visit_f64<E: Error>(self, number: f64) -> Result<i64, E> {
        if number.fract() != 0.0 {
            Err(E::custom(OutOfBounds::NotANumber {
                found: number.to_string(),
                min: self.min,
                max: self.max,
            }))
        } else if number.abs() <= MAX_EXACT as f64 {
            self.accept(number as i128)
        } else {
            Err(E::custom(OutOfBounds::Number {
                found: format!("{number:e}"),
                min: self.min,
                max: self.max,
            }))
        }
    }
}

/// Null says the same as leaving it out, as it does for whatever is optional.
struct OptionalNumberVisitor(NumberVisitor);

impl<'de> Visitor<'de> for OptionalNumberVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_i64(self.0).map(Some)
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Bounded<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("number_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl<const MIN: i64, const MAX: i64, const DEFAULT: i64> JsonSchema
    for BoundedOr<MIN, MAX, DEFAULT>
{
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("number_{MIN}_{MAX}_or_{DEFAULT}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX, "default": DEFAULT })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Some10 = Bounded<1, 10>;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_edges_of_a_range_belong_to_it() {
        assert_eq!(read::<Some10>("1").unwrap().get(), 1);
        assert_eq!(read::<Some10>("10").unwrap().to_u16(), 10);
        for text in ["0", "11", "-1"] {
            let error = read::<Some10>(text).unwrap_err();
            let expected = format!("must be from 1 to 10, but is {text}");
            assert!(error.starts_with(&expected), "{error}");
            let error = text.parse::<Some10>().unwrap_err().to_string();
            assert_eq!(error, expected);
        }
        type Whole = Bounded<{ i64::MIN }, { i64::MAX }>;
        for edge in [i64::MIN, i64::MAX] {
            assert_eq!(read::<Whole>(&edge.to_string()).unwrap().get(), edge);
        }
    }

    #[test]
    fn hostile_numbers_are_refused_in_one_sentence() {
        for (text, expected) in [
            ("18446744073709551615", "but is 18446744073709551615"),
            ("-9223372036854775808", "but is -9223372036854775808"),
            ("1e300", "but is 1e300"),
            ("9007199254740993.0", "from 1 to 10"),
            ("99999999999999999999999999", "but is 1e26"),
            ("2.5", "must be a whole number from 1 to 10, but is `2.5`"),
            ("1e400", "number out of range"),
            ("\"5\"", "expected a whole number from 1 to 10"),
            ("null", "expected a whole number from 1 to 10"),
            ("true", "expected a whole number from 1 to 10"),
            ("[5]", "expected a whole number from 1 to 10"),
        ] {
            let error = read::<Some10>(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for text in ["", "ten", "5 ", "0x5", "1e1", "5.0"] {
            let error = text.parse::<Some10>().unwrap_err().to_string();
            let expected = format!("must be a whole number from 1 to 10, but is `{text}`");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_point() {
        assert_eq!(read::<Some10>("5.0").unwrap().get(), 5);
        assert_eq!(read::<Some10>("1e1").unwrap().get(), 10);
        assert_eq!(read::<Bounded<0, 9>>("-0").unwrap().get(), 0);
        assert_eq!(read::<Bounded<0, 9>>("-0.0").unwrap().get(), 0);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        #[derive(Default, Deserialize, JsonSchema)]
        #[serde(default)]
        struct Page {
            limit: Limit<500, 100>,
            seconds: Option<Bounded<0, 60>>,
        }
        let page: Page = read("{}").unwrap();
        assert_eq!(page.limit.to_usize(), 100);
        assert_eq!(page.seconds, None);
        let page: Page = read(r#"{"limit":null,"seconds":null}"#).unwrap();
        assert_eq!((page.limit.get(), page.seconds), (100, None));
        let page: Page = read(r#"{"limit":7,"seconds":0}"#).unwrap();
        assert_eq!(
            (page.limit.to_u32(), page.seconds.unwrap().to_u64()),
            (7, 0)
        );
        let schema = schemars::schema_for!(Page).to_value();
        assert_eq!(
            schema["properties"],
            serde_json::json!({
                "limit": { "type": "integer", "minimum": 1, "maximum": 500, "default": 100 },
                "seconds": {
                    "type": ["integer", "null"], "minimum": 0, "maximum": 60, "default": null,
                },
            })
        );
    }

    proptest! {
        #[test]
        fn a_number_is_read_back_or_refused_by_its_range(number: i64) {
            type Range = Bounded<-1_000, { i64::MAX / 2 }>;
            let text = number.to_string();
            let inside = (Range::MIN..=Range::MAX).contains(&number);
            prop_assert_eq!(Range::new(number).is_ok(), inside);
            prop_assert_eq!(text.parse::<Range>().is_ok(), inside);
            match read::<Range>(&text) {
                Ok(number) => {
                    prop_assert!(inside);
                    prop_assert_eq!(serde_json::to_string(&number).unwrap(), text);
                }
                Err(_) => prop_assert!(!inside),
            }
            let clamped = Range::clamped(number).get();
            prop_assert!((Range::MIN..=Range::MAX).contains(&clamped));
            prop_assert!(!inside || clamped == number);
        }

        #[test]
        fn no_text_makes_a_number_outside_its_range(text in "[-+0-9.eE]{1,24}") {
            if let Ok(number) = read::<Some10>(&text) {
                prop_assert!((1..=10).contains(&number.get()));
            }
            if let Ok(number) = text.parse::<Some10>() {
                prop_assert!((1..=10).contains(&number.get()));
            }
        }
    }
}
