//! What tokens cost: by the prices of the configuration, and by list prices where it
//! has none. A price is in dollars for a million tokens, so it is in millionths of a
//! dollar for one.

use missiond_config::{PriceConfig, UsageConfig, price_list};
use missiond_core::Cost;
use missiond_store::token_usage::{Tokens, Used};

/// A model whose name no transcript says.
const NAMELESS: &str = "unknown";

/// What was used of some models, together, and what transcripts say of it.
pub fn of<'a>(
    config: &UsageConfig,
    used: impl IntoIterator<Item = &'a Used<Option<String>>>,
    told: Option<u64>,
) -> Cost {
    let mut cost = Cost {
        told_microdollars: told,
        ..Cost::default()
    };
    for one in used {
        add(config, one.of.as_deref(), one.tokens, &mut cost);
    }
    cost
}

/// Adds what tokens of a model cost.
pub fn add(config: &UsageConfig, model: Option<&str>, tokens: Tokens, cost: &mut Cost) {
    if tokens == Tokens::default() {
        return;
    }
    let model = model.unwrap_or(NAMELESS);
    match price_of(config, model) {
        Some(price) => {
            let sum = cost.microdollars.unwrap_or(0);
            cost.microdollars = Some(sum.saturating_add(microdollars(&price, tokens)));
        }
        None if cost.unpriced.iter().any(|known| known == model) => {}
        None => cost.unpriced.push(model.to_owned()),
    }
}

/// Adds one cost to another.
pub fn join(sum: &mut Cost, cost: Cost) {
    for (sum, more) in [
        (&mut sum.microdollars, cost.microdollars),
        (&mut sum.told_microdollars, cost.told_microdollars),
    ] {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(more));
        }
    }
    for model in cost.unpriced {
        if !sum.unpriced.contains(&model) {
            sum.unpriced.push(model);
        }
    }
}

/// What a model costs: what a person says, or its list price.
#[must_use]
pub fn price_of(config: &UsageConfig, model: &str) -> Option<PriceConfig> {
    let own = config.price_of(model).cloned();
    own.or_else(|| price_list().of(model).map(PriceConfig::from))
}

/// A millionth of a dollar more or less is nothing, and what is too much for the
/// number is its most.
fn microdollars(price: &PriceConfig, tokens: Tokens) -> u64 {
    let write = price.cache_write.unwrap_or(price.input);
    let short = tokens.cache_write.saturating_sub(tokens.cache_write_1h);
    let sum = tokens.input as f64 * price.input
        + tokens.output as f64 * price.output
        + tokens.cache_read as f64 * price.cache_read.unwrap_or(price.input)
        + short as f64 * write
        + tokens.cache_write_1h as f64 * price.cache_write_1h.unwrap_or(write);
    sum.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(model: Option<&str>, input: u64, cache_read: u64) -> Used<Option<String>> {
        let tokens = Tokens {
            input,
            cache_read,
            output: 10,
            cache_write: 0,
            cache_write_1h: 0,
        };
        Used {
            of: model.map(str::to_owned),
            tokens,
        }
    }

    #[test]
    fn a_cost_is_what_has_a_price_and_names_what_has_none() {
        let config = UsageConfig {
            prices: vec![PriceConfig {
                model: "big-*".to_owned(),
                input: 3.0,
                output: 15.0,
                cache_read: Some(0.3),
                cache_write: None,
                cache_write_1h: None,
            }],
        };
        let all = [
            used(Some("big-4"), 100, 1000),
            used(Some("small"), 5, 0),
            used(None, 5, 0),
            used(Some("small"), 7, 0),
        ];
        let cost = of(&config, &all, None);
        assert_eq!(cost.microdollars, Some(300 + 150 + 300));
        assert_eq!(cost.unpriced, ["small", "unknown"]);
        let unpriced = of(&config, &all[1..2], Some(7));
        assert_eq!(
            (unpriced.microdollars, unpriced.told_microdollars),
            (None, Some(7))
        );
        assert_eq!(of(&config, &[], None), Cost::default());
    }

    #[test]
    fn list_prices_hold_where_the_configuration_has_none() {
        let tokens = Tokens {
            input: 1000,
            output: 100,
            cache_read: 10_000,
            cache_write: 500,
            cache_write_1h: 200,
        };
        let used = |model: &str| Used {
            of: Some(model.to_owned()),
            tokens,
        };
        let sonnet = used("claude-sonnet-4-5-20250929");
        let listed = of(&UsageConfig::default(), [&sonnet], None);
        // 3 and 15 dollars, 0.3 read, 3.75 written for five minutes and 6 for an hour.
        let expected = 3000 + 1500 + 3000 + 1125 + 1200;
        assert_eq!(listed.microdollars, Some(expected));
        let own = UsageConfig {
            prices: vec![PriceConfig {
                model: "claude-sonnet-*".to_owned(),
                input: 1.0,
                output: 1.0,
                cache_read: None,
                cache_write: None,
                cache_write_1h: None,
            }],
        };
        let cost = of(&own, [&sonnet, &used("gpt-5")], None);
        let gpt = 1250 + 1000 + 1250 + 625;
        assert_eq!(
            cost.microdollars,
            Some(11_600 + gpt),
            "the other one is as listed"
        );
    }
}
