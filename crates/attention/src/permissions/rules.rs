//! The rules in force, from all their sources.

use missiond_core::{Event, QuestionId, Timestamp, TraceContext};
use missiond_guard::permissions::{Effect, Rule};
use missiond_secrets::mask;
use missiond_store::permissions::{self, NewRule, RuleRow};

use super::Permissions;
use crate::questions::QuestionError;

/// A rule and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRule {
    pub rule: Rule,
    pub source: RuleSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// The program's own: it cannot be removed.
    BuiltIn,
    Configuration,
    Stored {
        number: i64,
        created_by: String,
        created_at: Timestamp,
    },
}

impl Permissions {
    /// All of them: the program's own, the configuration's, the stored ones.
    pub async fn rules(&self) -> Result<Vec<KnownRule>, QuestionError> {
        let mut all = self.built_in();
        let config = self.config.borrow().permissions.clone();
        let configured = config.rules().map_err(QuestionError::Invalid)?;
        all.extend(configured.into_iter().map(|rule| KnownRule {
            rule,
            source: RuleSource::Configuration,
        }));
        let stored = self.db.read(|tx| Box::pin(permissions::list(tx))).await?;
        for row in stored {
            match stored_rule(&row) {
                Ok(rule) => all.push(KnownRule {
                    rule,
                    source: RuleSource::Stored {
                        number: row.number,
                        created_by: row.rule.created_by,
                        created_at: row.created_at,
                    },
                }),
                // A newer version wrote it. Passed over, it could only deny or
                // ask less than it should: so nothing is decided.
                Err(error) => {
                    return Err(QuestionError::Invalid(format!(
                        "the stored rule P-{} cannot be read: {error}",
                        row.number
                    )));
                }
            }
        }
        Ok(all)
    }

    /// Adds a rule; what waits is decided by it too.
    pub async fn add(
        &self,
        rule: &Rule,
        question: Option<QuestionId>,
        by: &str,
        trace: TraceContext,
    ) -> Result<i64, QuestionError> {
        rule.check()
            .map_err(|error| QuestionError::Invalid(error.to_string()))?;
        let now = self.clock.now();
        let scope = serde_json::to_string(&rule.scope)
            .map_err(|error| QuestionError::Invalid(error.to_string()))?;
        let new = NewRule {
            effect: rule.effect.as_str().to_owned(),
            tool: rule.tool.to_string(),
            argument: rule.argument.as_ref().map(ToString::to_string),
            path: rule.path.as_ref().map(ToString::to_string),
            server: rule.server.as_ref().map(ToString::to_string),
            scope,
            expires_at: rule.expires_at,
            uses_left: rule.uses_left,
            question,
            created_by: by.to_owned(),
        };
        let number = self
            .db
            .write(move |tx| Box::pin(async move { permissions::add(tx, &new, now).await }))
            .await?;
        self.questions.recheck_dialogs();
        tracing::info!(
            rule = format!("P-{number}"),
            by,
            "permission rule added: {}",
            rule.sentence()
        );
        let added = Event::PermissionRuleAdded {
            rule: format!("P-{number}"),
            sentence: mask(rule.sentence()).into_string(),
            by: by.to_owned(),
        };
        self.record(added, trace).await;
        Ok(number)
    }

    async fn record(&self, event: Event, trace: TraceContext) {
        if let Err(error) = self.timeline.record(event, trace).await {
            tracing::warn!(%error, "change of permission rules not recorded on timeline");
        }
    }

    /// Removes a stored rule.
    pub async fn remove(
        &self,
        name: &str,
        by: &str,
        trace: TraceContext,
    ) -> Result<(), QuestionError> {
        let unknown = || {
            let shown: String = name.chars().take(64).collect();
            QuestionError::NoSuchRule(shown.escape_default().to_string())
        };
        let number = name.strip_prefix("P-").or_else(|| name.strip_prefix("p-"));
        let Some(number) = number.unwrap_or(name).parse::<i64>().ok() else {
            let known = self.rules().await?;
            let source = known.iter().find(|known| known.rule.name == name);
            return Err(match source.map(|known| &known.source) {
                Some(RuleSource::BuiltIn) => QuestionError::Invalid(format!(
                    "{name} is built in: agents stay away from what the daemon keeps of them"
                )),
                Some(_) => QuestionError::Invalid(format!(
                    "{name} does not come from `mission permission add`: change it in the \
                     configuration"
                )),
                None => unknown(),
            });
        };
        let now = self.clock.now();
        let removed = self
            .db
            .write(move |tx| Box::pin(permissions::remove(tx, number, now)))
            .await?;
        let removed = removed.ok_or_else(unknown)?;
        self.questions.recheck_dialogs();
        // One that a newer version wrote can be removed too.
        let sentence = stored_rule(&removed).map_or_else(|why| why, |rule| rule.sentence());
        let removed = Event::PermissionRuleRemoved {
            rule: format!("P-{number}"),
            sentence: mask(sentence.as_str()).into_string(),
            by: by.to_owned(),
        };
        self.record(removed, trace).await;
        Ok(())
    }

    /// Agents stay away from what the daemon keeps of them, whatever else is
    /// configured.
    fn built_in(&self) -> Vec<KnownRule> {
        let home = &self.home;
        let database = home.database();
        let protected = [
            ("journals", home.journals_dir()),
            ("recordings", home.recordings_dir()),
            ("run", home.run_dir().to_owned()),
            ("configuration", home.config_dir().to_owned()),
            ("keys", home.identity_dir()),
            ("audit", home.audit_dir()),
            ("data", home.data_dir().to_owned()),
            // May be elsewhere.
            ("logs", home.log_dir()),
        ];
        let folders = protected
            .iter()
            .map(|(name, folder)| (*name, format!("{}/**", folder.display())));
        let database = [("database", format!("{}*", database.display()))];
        folders
            .chain(database)
            .filter_map(|(name, path)| {
                Some(KnownRule {
                    rule: Rule {
                        path: Some(path.parse().ok()?),
                        ..Rule::new(format!("built-in-{name}"), Effect::Deny, "*".parse().ok()?)
                    },
                    source: RuleSource::BuiltIn,
                })
            })
            .collect()
    }
}

fn stored_rule(row: &RuleRow) -> Result<Rule, String> {
    let stored = &row.rule;
    let text = |error: &dyn std::fmt::Display| error.to_string();
    Ok(Rule {
        name: format!("P-{}", row.number),
        effect: match stored.effect.as_str() {
            "allow" => Effect::Allow,
            "ask" => Effect::Ask,
            "deny" => Effect::Deny,
            other => return Err(format!("`{other}` is no effect")),
        },
        tool: stored.tool.parse().map_err(|error| text(&error))?,
        argument: stored
            .argument
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|error| text(&error))?,
        path: stored
            .path
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|error| text(&error))?,
        server: stored
            .server
            .as_deref()
            .map(str::parse)
            .transpose()
            .map_err(|error| text(&error))?,
        scope: serde_json::from_str(&stored.scope).map_err(|error| text(&error))?,
        expires_at: stored.expires_at,
        uses_left: stored.uses_left,
    })
}
