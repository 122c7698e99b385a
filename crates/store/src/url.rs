//! Where a database is, from one configuration string.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio_postgres::config::Host;

use crate::StoreError;

/// `sqlite:/path/to/mission.db` or `postgres://user@host/database`.
///
/// What is shown of it never contains the password.
#[derive(Clone)]
pub struct DbUrl(pub(crate) Target);

#[derive(Clone)]
pub(crate) enum Target {
    Sqlite(PathBuf),
    Postgres {
        config: Box<tokio_postgres::Config>,
        text: String,
    },
}

impl DbUrl {
    /// The SQLite database in this file.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self(Target::Sqlite(path.as_ref().to_owned()))
    }

    /// The file of a SQLite database.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.0 {
            Target::Sqlite(path) => Some(path),
            Target::Postgres { .. } => None,
        }
    }

    /// The same PostgreSQL server, another database on it.
    pub fn with_database(&self, name: &str) -> Result<Self, StoreError> {
        let Target::Postgres { config, text } = &self.0 else {
            return Err(bad(
                "a SQLite file holds one database: only PostgreSQL has several",
            ));
        };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(bad(format!(
                "`{name}` is not a database name: use letters, digits and `_`"
            )));
        }
        let mut config = config.clone();
        config.dbname(name);
        let after_scheme = text.find("://").map_or(0, |at| at + 3);
        let rest = &text[after_scheme..];
        let query = rest.find('?').map_or("", |at| &rest[at..]);
        let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
        let text = format!("{}{authority}/{name}{query}", &text[..after_scheme]);
        Ok(Self(Target::Postgres { config, text }))
    }
}

impl FromStr for DbUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(rest) = text.strip_prefix("sqlite:") {
            return sqlite(rest);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return postgres(text);
        }
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        Err(bad(format!(
            "a database is named `sqlite:/path/to/mission.db` or \
             `postgres://user@host/database`, not `{scheme}:…`"
        )))
    }
}

fn sqlite(rest: &str) -> Result<DbUrl, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    match path {
        ":memory:" => Err(bad(
            "`sqlite::memory:` is not supported: a mission database must survive a restart. \
             Name a file, for example `sqlite:/tmp/mission.db`",
        )),
        "" => Err(bad(
            "`sqlite:` needs a path, for example `sqlite:/path/to/mission.db`",
        )),
        path if path.contains(['?', '\0']) => Err(bad(
            "a SQLite database is named by its path alone, without `?` options",
        )),
        path if !Path::new(path).is_absolute() => Err(bad(
            "`sqlite:` needs an absolute path, for example `sqlite:/path/to/mission.db`: the \
             daemon does not run in your folder",
        )),
        path => Ok(DbUrl::sqlite(path)),
    }
}

fn postgres(text: &str) -> Result<DbUrl, StoreError> {
    // The driver's error names an option, never a value.
    let mut config: tokio_postgres::Config = text.parse().map_err(|error| {
        bad(format!(
            "the PostgreSQL address is not well formed: {error}"
        ))
    })?;
    for host in config.get_hosts() {
        match host {
            Host::Tcp(name) if !missiond_net::is_loopback_host(name) => {
                return Err(not_encrypted(name));
            }
            _ => {}
        }
    }
    if let Some(far) = config
        .get_hostaddrs()
        .iter()
        .find(|addr| !addr.is_loopback())
    {
        return Err(not_encrypted(&far.to_string()));
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(bad(
            "the PostgreSQL address names no host: use a socket folder or `localhost`",
        ));
    }
    if config.get_application_name().is_none() {
        config.application_name("missiond");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(std::time::Duration::from_secs(10));
    }
    Ok(DbUrl(Target::Postgres {
        config: Box::new(config),
        text: masked(text),
    }))
}

fn not_encrypted(host: &str) -> StoreError {
    bad(format!(
        "PostgreSQL on `{host}` would be reached over the network, and this missiond has no TLS: \
         use a socket folder or localhost, for example through an SSH or WireGuard tunnel"
    ))
}

fn bad(detail: impl Into<String>) -> StoreError {
    StoreError::BadUrl {
        detail: detail.into(),
    }
}

/// The address with every place a password can stand replaced by `***`.
fn masked(url: &str) -> String {
    let (base, query) = url
        .split_once('?')
        .map_or((url, None), |(b, q)| (b, Some(q)));
    let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
    let mut out = match rest.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
            None => base.to_owned(),
        },
        None => base.to_owned(),
    };
    if let Some(query) = query {
        let options: Vec<_> = query
            .split('&')
            .map(|option| match option.split_once('=') {
                Some((key, _)) if key.to_ascii_lowercase().contains("pass") => {
                    format!("{key}=***")
                }
                _ => option.to_owned(),
            })
            .collect();
        out = format!("{out}?{}", options.join("&"));
    }
    out
}

impl fmt::Display for DbUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Target::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Target::Postgres { text, .. } => f.write_str(text),
        }
    }
}

impl fmt::Debug for DbUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<DbUrl>().unwrap_err().to_string()
    }

    #[test]
    fn no_password_is_ever_shown() {
        for url in [
            "postgres://ann:s3cret@localhost/mission",
            "postgresql://ann:s3cr%40et@127.0.0.1:5433/mission",
            "postgres://ann@localhost/mission?password=s3cret",
            "postgres://ann:s3@cret@localhost/mission",
        ] {
            let Ok(parsed) = url.parse::<DbUrl>() else {
                assert!(!refusal(url).contains("s3"), "{url}");
                continue;
            };
            for shown in [
                parsed.to_string(),
                format!("{parsed:?}"),
                parsed.with_database("other").unwrap().to_string(),
            ] {
                assert!(!shown.contains("s3"), "{shown}");
                assert!(shown.contains("***"), "{shown}");
            }
        }
        assert!(!refusal("mysql://ann:s3cret@host/db").contains("s3cret"));
    }

    #[test]
    fn another_database_on_the_same_server() {
        let url: DbUrl = "postgres://ann@localhost:5433/one?connect_timeout=3"
            .parse()
            .unwrap();
        assert_eq!(
            url.with_database("two").unwrap().to_string(),
            "postgres://ann@localhost:5433/two?connect_timeout=3"
        );
        assert!(url.with_database("a; drop").is_err());
    }

    #[test]
    fn postgres_over_the_network_is_refused_for_want_of_tls() {
        for far in [
            "postgres://ann@db.example.org/mission",
            "postgres://ann@10.0.0.7/mission",
            "postgres://ann@localhost,db.example.org/mission",
            "postgres://ann@localhost/mission?hostaddr=10.0.0.7",
        ] {
            assert!(refusal(far).contains("no TLS"), "{far}: {}", refusal(far));
        }
        for near in [
            "postgres://ann@localhost/mission",
            "postgres://ann@127.0.0.1:5433/mission",
            "postgres://ann@%2Fvar%2Frun%2Fpostgresql/mission",
            "postgresql:///mission?host=/var/run/postgresql",
        ] {
            assert!(near.parse::<DbUrl>().is_ok(), "{near}: {}", refusal(near));
        }
    }

    #[test]
    fn what_is_not_supported_is_said() {
        assert!(refusal("sqlite::memory:").contains("not supported"));
        assert!(refusal("sqlite:").contains("needs a path"));
        assert!(refusal("/just/a/path").contains("sqlite:/path"));
        assert_eq!(
            "sqlite:///data/mission.db"
                .parse::<DbUrl>()
                .unwrap()
                .to_string(),
            "sqlite:/data/mission.db"
        );
    }
}
