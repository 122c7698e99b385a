//! What a request costs, and what it may cost at most before anybody knows. A price is
//! in dollars for a million tokens, so it is in millionths of a dollar for one.

use missiond_config::{PriceConfig, UsageConfig, price_list};

use crate::items::Usage;

/// The tokens of an answer where nobody says how many it may have.
pub(crate) const USUAL_OUTPUT: u64 = 32_000;

/// What a model costs: what a person says, or its list price. None is nobody's guess.
#[must_use]
pub fn price_of(config: &UsageConfig, model: &str) -> Option<PriceConfig> {
    let own = config.price_of(model).cloned();
    own.or_else(|| price_list().of(model).map(PriceConfig::from))
}

/// What was used, in millionths of a dollar; none where the provider did not say what
/// was used.
#[must_use]
pub fn cost(price: &PriceConfig, used: &Usage) -> Option<u64> {
    let (input, output) = (used.input?, used.output?);
    let write = price.cache_write.unwrap_or(price.input);
    let written = used.cache_write.unwrap_or(0);
    let long = used.cache_write_1h.unwrap_or(0).min(written);
    let sum = input as f64 * price.input
        + output as f64 * price.output
        + used.cache_read.unwrap_or(0) as f64 * price.cache_read.unwrap_or(price.input)
        + (written - long) as f64 * write
        + long as f64 * price.cache_write_1h.unwrap_or(write);
    Some(sum.round() as u64)
}

/// What a request may cost at most: as if every byte were a token of the dearest kind. No
/// tokenizer makes more of any text, and of digits and rare characters some make that many.
#[must_use]
pub(crate) fn at_most(price: &PriceConfig, bytes: usize, max_output: Option<u64>) -> u64 {
    let dearest = [Some(price.input), price.cache_write, price.cache_write_1h];
    let input = dearest.into_iter().flatten().fold(0.0, f64::max);
    let output = max_output.unwrap_or(USUAL_OUTPUT);
    (bytes as f64 * input + output as f64 * price.output).ceil() as u64
}

/// How many tokens a request of so many bytes has as a rule.
pub(crate) const fn likely_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn price() -> PriceConfig {
        PriceConfig {
            model: "m".to_owned(),
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            cache_write_1h: Some(6.0),
        }
    }

    #[test]
    fn a_cost_is_known_or_not_and_never_guessed() {
        let used = Usage {
            input: Some(1000),
            cache_read: Some(10_000),
            cache_write: Some(500),
            cache_write_1h: Some(200),
            output: Some(100),
            reasoning: Some(50),
        };
        assert_eq!(
            cost(&price(), &used),
            Some(3000 + 3000 + 1125 + 1200 + 1500)
        );
        let silent = Usage {
            output: None,
            ..used
        };
        assert_eq!(cost(&price(), &silent), None);
        let config = UsageConfig::default();
        assert!(price_of(&config, "claude-opus-4-5").is_some());
        assert!(price_of(&config, "a-model-nobody-knows").is_none());
    }

    proptest! {
        #[test]
        fn what_is_reserved_covers_whatever_the_cache_does(
            bytes in 0usize..1_000_000, out in 0u64..10_000, read in 0.0f64..1.0, written in 0.0f64..1.0,
        ) {
            let tokens = bytes as u64;
            let cache_read = (tokens as f64 * read) as u64;
            let cache_write = ((tokens - cache_read) as f64 * written) as u64;
            let used = Usage {
                input: Some(tokens - cache_read - cache_write),
                cache_read: Some(cache_read),
                cache_write: Some(cache_write),
                cache_write_1h: Some(cache_write),
                output: Some(out),
                reasoning: None,
            };
            prop_assert!(cost(&price(), &used).unwrap() <= at_most(&price(), bytes, Some(out)) + 1);
        }
    }
}
