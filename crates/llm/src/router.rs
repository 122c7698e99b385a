//! Which models are asked, in order, and why: by what is declared of the need, never by
//! words of a prompt.

use missiond_config::LlmConfig;

use crate::error::LlmError;

/// How capable a model is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    Fast,
    Default,
    Premium,
}

impl Tier {
    pub const ALL: [Self; 3] = [Self::Fast, Self::Default, Self::Premium];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Default => "default",
            Self::Premium => "premium",
        }
    }

    fn models(self, config: &LlmConfig) -> &[String] {
        match self {
            Self::Fast => &config.fast,
            Self::Default => &config.default,
            Self::Premium => &config.premium,
        }
    }
}

/// What is declared of a need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Need {
    /// Chosen by whoever asks.
    pub tier: Option<Tier>,
    /// The answer is judged upon: a weaker model is not a way out.
    pub judges: bool,
    /// Bytes of all that is sent.
    pub bytes: usize,
    pub uses_tools: bool,
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub provider: String,
    pub model: String,
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl ModelName {
    pub fn parse(text: &str) -> Result<Self, LlmError> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
            _ => Err(LlmError::NoModelName(text.to_owned())),
        }
    }
}

/// The models to ask, the first first, and why these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub tier: Tier,
    pub models: Vec<ModelName>,
    pub because: String,
}

/// Short enough for a small model, without tools.
const SMALL: usize = 2_000;
/// Long enough to need a model that keeps all of it in view.
const LARGE: usize = 200_000;

/// Decides who is asked. `found` are the models of an Ollama that was found.
pub fn route(config: &LlmConfig, found: &[ModelName], need: &Need) -> Result<Route, LlmError> {
    let (tier, why) = match need.tier {
        Some(tier) => (tier, "chosen".to_owned()),
        None if need.judges => (Tier::Premium, "its answer is judged upon".to_owned()),
        None if need.bytes > LARGE => (Tier::Premium, format!("{} bytes", need.bytes)),
        None if need.bytes <= SMALL && !need.uses_tools => {
            (Tier::Fast, format!("{} bytes and no tools", need.bytes))
        }
        None => (Tier::Default, format!("{} bytes", need.bytes)),
    };
    // Upwards first: nobody is given less than was wanted while more is there.
    let order: &[Tier] = match tier {
        Tier::Fast => &[Tier::Fast, Tier::Default, Tier::Premium],
        Tier::Default => &[Tier::Default, Tier::Premium, Tier::Fast],
        Tier::Premium if need.judges => &[Tier::Premium],
        Tier::Premium => &[Tier::Premium, Tier::Default, Tier::Fast],
    };
    let configured = order
        .iter()
        .map(|tier| (*tier, tier.models(config)))
        .find(|(_, models)| !models.is_empty());
    if let Some((used, models)) = configured {
        let models = models.iter().map(|model| ModelName::parse(model));
        let instead = if used == tier {
            String::new()
        } else {
            format!("; `llm.{}` is empty, so `llm.{}`", tier.name(), used.name())
        };
        return Ok(Route {
            tier: used,
            models: models.collect::<Result<_, _>>()?,
            because: format!("{}: {why}{instead}", tier.name()),
        });
    }
    if found.is_empty() || need.judges {
        return Err(LlmError::NoModels);
    }
    Ok(Route {
        tier,
        models: found.to_vec(),
        because: format!(
            "{}: {why}; nothing is configured, so the Ollama that was found",
            tier.name()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> LlmConfig {
        LlmConfig {
            fast: vec!["a/small".to_owned(), "b/small".to_owned()],
            premium: vec!["a/big".to_owned()],
            ..LlmConfig::default()
        }
    }

    fn chosen(config: &LlmConfig, need: &Need) -> String {
        let route = route(config, &[], need).unwrap();
        let models: Vec<_> = route.models.iter().map(ToString::to_string).collect();
        format!("{} ({})", models.join(" "), route.because)
    }

    #[test]
    fn a_model_is_chosen_by_what_is_declared_and_says_why() {
        let need = |bytes, uses_tools| Need {
            bytes,
            uses_tools,
            ..Need::default()
        };
        let config = config();
        assert_eq!(
            chosen(&config, &need(10, false)),
            "a/small b/small (fast: 10 bytes and no tools)"
        );
        assert_eq!(
            chosen(&config, &need(10, true)),
            "a/big (default: 10 bytes; `llm.default` is empty, so `llm.premium`)"
        );
        assert_eq!(
            chosen(&config, &need(300_000, false)),
            "a/big (premium: 300000 bytes)"
        );
        let wanted = Need {
            tier: Some(Tier::Fast),
            ..need(300_000, true)
        };
        assert_eq!(chosen(&config, &wanted), "a/small b/small (fast: chosen)");
    }

    #[test]
    fn nobody_weaker_judges_and_nothing_is_invented() {
        let judges = Need {
            judges: true,
            ..Need::default()
        };
        let weak = LlmConfig {
            fast: vec!["a/small".to_owned()],
            ..LlmConfig::default()
        };
        assert!(matches!(
            route(&weak, &[], &judges),
            Err(LlmError::NoModels)
        ));
        let found = [ModelName::parse("ollama/tiny").unwrap()];
        assert!(matches!(
            route(&weak, &found, &judges),
            Err(LlmError::NoModels)
        ));
        let nothing = LlmConfig::default();
        assert!(route(&nothing, &[], &Need::default()).is_err());
        let route = route(&nothing, &found, &Need::default()).unwrap();
        assert_eq!(route.models, found);
        assert!(ModelName::parse("tiny").is_err() && ModelName::parse("/x").is_err());
    }
}
