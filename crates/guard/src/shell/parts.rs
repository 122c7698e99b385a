//! The simple commands of a script as they stand in it, for comparing with another
//! reading of it.

use super::tree::{Command, Simple, Word};

/// In order and without quotes; none where they cannot be so compared.
pub(crate) fn plain_parts(script: &[Command]) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    for command in script {
        match command {
            Command::Simple(simple) => parts.push(plain_part(simple)?),
            Command::Pipeline(commands) => parts.extend(plain_parts(commands)?),
            _ => return None,
        }
    }
    Some(parts)
}

fn plain_part(simple: &Simple) -> Option<String> {
    let mut words = Vec::new();
    for assign in &simple.assigns {
        let sign = if assign.partial { return None } else { "=" };
        words.push(format!("{}{sign}{}", assign.name, assign.value.literal()?));
    }
    let literal = |word: &Word| word.literal();
    for word in &simple.words {
        words.push(literal(word)?);
    }
    Some(words.join(" "))
}
