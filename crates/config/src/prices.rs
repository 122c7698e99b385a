//! List prices of models, as the vendors published them on the days that
//! `data/prices.toml` names. The file is part of the program: a price is looked up
//! without asking anybody, and is as old as the file says.
//!
//! A model is found by its whole name, or by its name without the date of a snapshot
//! (`-20250929` or `-2025-09-29`). Nothing else is taken for the same model: a name
//! with more behind it is often another one, at another price.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::usage::PriceConfig;

/// Where prices were read, and when.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceSource {
    pub vendor: String,
    /// The day: `2026-10-16`.
    pub as_of: String,
    pub page: String,
}

/// The price of one model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListPrice {
    pub model: String,
    pub vendor: String,
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
}

/// Every list price, with its sources.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    pub currency: String,
    pub sources: Vec<PriceSource>,
    pub models: Vec<ListPrice>,
}

const TEXT: &str = include_str!("../data/prices.toml");

static LIST: LazyLock<PriceList> = LazyLock::new(|| {
    // A test reads the same text, so what is built has a list.
    toml::from_str(TEXT).unwrap_or_default()
});

/// What the program knows.
#[must_use]
pub fn price_list() -> &'static PriceList {
    &LIST
}

impl PriceList {
    /// The price of a model by its name in transcripts.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<&ListPrice> {
        let named = |name: &str| self.models.iter().find(|price| price.model == name);
        named(model).or_else(|| named(without_date(model)?))
    }
}

impl From<&ListPrice> for PriceConfig {
    fn from(price: &ListPrice) -> Self {
        Self {
            model: price.model.clone(),
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            cache_write_1h: price.cache_write_1h,
        }
    }
}

/// A name without the date behind it.
fn without_date(model: &str) -> Option<&str> {
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let (name, last) = model.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(name);
    }
    let (name, month) = name.rsplit_once('-')?;
    let (name, year) = name.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_price_has_a_dated_source_and_one_meaning() {
        let list: PriceList = toml::from_str(TEXT).unwrap();
        assert_eq!(list.currency, "USD");
        let vendors: BTreeSet<_> = list.sources.iter().map(|source| &source.vendor).collect();
        assert_eq!(vendors.len(), list.sources.len());
        for source in &list.sources {
            assert!(without_date(&format!("x-{}", source.as_of)).is_some());
            assert!(source.page.starts_with("https://"));
        }
        let names: BTreeSet<_> = list.models.iter().map(|price| &price.model).collect();
        assert_eq!(names.len(), list.models.len(), "one price for a model");
        for price in &list.models {
            assert!(vendors.contains(&price.vendor), "{}", price.model);
            assert!(0.0 < price.input && price.input < price.output);
            assert!(price.cache_read.is_some_and(|read| read < price.input));
            for write in [price.cache_write, price.cache_write_1h] {
                assert!(write.is_none_or(|write| write >= price.input));
            }
        }
    }

    #[test]
    fn a_model_is_found_by_its_name_and_by_that_of_its_snapshots_alone() {
        let input = |model: &str| price_list().of(model).map(|price| price.input);
        assert_eq!(input("claude-opus-4-5"), Some(5.0));
        assert_eq!(input("claude-opus-4-5-20251101"), Some(5.0));
        assert_eq!(input("claude-opus-4-20250514"), Some(15.0));
        assert_eq!(input("gpt-5-2025-08-07"), Some(1.25));
        for other in [
            "claude-opus-4-5-fast",
            "claude-haiku-5-5",
            "gpt-5-2025",
            "gpt-5-08-07",
            "20251101",
            "rehearsal",
            "",
        ] {
            assert_eq!(input(other), None, "{other}");
        }
    }
}
