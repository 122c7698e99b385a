//! What tokens cost a person, where that is not what the vendors list: list prices
//! come with the program (`config/data/prices.toml`), and a model that is named here
//! has the price it has here.

use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Tables: Vec<PriceConfig>; }

section! {
    pub struct UsageConfig: "usage." {
        /// What tokens cost: `[[usage.prices]]` with `model` (its name in transcripts, or
        /// how it begins with a `*` behind), `input`, `output` and, if they differ from
        /// `input`, `cache_read`, `cache_write` and `cache_write_1h` (what stays in the
        /// cache for an hour), in US dollars for a million tokens. A model that is not
        /// here has its list price, if the program knows one.
        live prices: Vec<PriceConfig> = Vec::new();
    }
}

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceConfig {
    /// Its name in transcripts, or how it begins with a `*` behind.
    pub model: String,
    pub input: f64,
    pub output: f64,
    /// As `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// As `input` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Of what stays in the cache for an hour; as `cache_write` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
}

/// Nobody asks for more: a sum of costs stays a number.
const MAX_PRICE: f64 = 1_000_000.0;
const MAX_PRICES: usize = 500;

impl UsageConfig {
    /// The price of a model: by its whole name, or by the longest beginning.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<&PriceConfig> {
        let fit = |price: &PriceConfig| match price.model.strip_suffix('*') {
            None => (price.model == model).then_some(usize::MAX),
            Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
        };
        let fitting = self
            .prices
            .iter()
            .filter_map(|price| Some((fit(price)?, price)));
        fitting.max_by_key(|(length, _)| *length).map(|(_, p)| p)
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let refuse = |message: String| Err(InvalidValue::new("usage.prices", message));
        if self.prices.len() > MAX_PRICES {
            return refuse(format!("has more than {MAX_PRICES} prices"));
        }
        for (index, price) in self.prices.iter().enumerate() {
            let name = &price.model;
            let number = index + 1;
            if name.is_empty() || name.trim_end_matches('*').contains('*') {
                return refuse(format!(
                    "price {number}: `{name}` must be the name of a model, or its beginning with a \
                     `*` behind"
                ));
            }
            if self.prices[..index]
                .iter()
                .any(|other| other.model == *name)
            {
                return refuse(format!("price {number}: `{name}` has a price already"));
            }
            let dollars = [
                Some(price.input),
                Some(price.output),
                price.cache_read,
                price.cache_write,
                price.cache_write_1h,
            ];
            for dollars in dollars.into_iter().flatten() {
                if !(0.0..=MAX_PRICE).contains(&dollars) {
                    return refuse(format!(
                        "price {number}: {dollars} must be 0 to {MAX_PRICE} US dollars for a million \
                         tokens"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Config;

    fn parsed(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("c"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_price_of_a_model_is_that_of_its_name_or_its_longest_beginning() {
        let text = "[usage]\nprices = [\n\
             {model = \"*\", input = 1, output = 1},\n\
             {model = \"opus-*\", input = 2, output = 2},\n\
             {model = \"opus-4\", input = 3, output = 3},\n]\n";
        let usage = parsed(text).unwrap().usage;
        let price = |model: &str| usage.price_of(model).map(|price| price.input);
        assert_eq!(price("opus-4"), Some(3.0));
        assert_eq!(price("opus-4-1"), Some(2.0));
        assert_eq!(price("another"), Some(1.0));
        assert!(Config::default().usage.price_of("opus-4").is_none());
    }

    #[test]
    fn a_price_that_cannot_be_is_refused() {
        for (price, expected) in [
            (
                "{model = \"\", input = 1, output = 1}",
                "the name of a model",
            ),
            ("{model = \"a*b\", input = 1, output = 1}", "`a*b` must be"),
            ("{model = \"a\", input = -1, output = 1}", "-1 must be 0 to"),
            ("{model = \"a\", input = nan, output = 1}", "must be 0 to"),
            ("{model = \"a\", input = 1}", "missing field `output`"),
            (
                "{model = \"a\", input = 1, output = 1}, {model = \"a\", input = 1, output = 1}",
                "price 2: `a` has a price already",
            ),
        ] {
            let error = parsed(&format!("[usage]\nprices = [{price}]\n")).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("line 2"), "{error}");
        }
    }
}
