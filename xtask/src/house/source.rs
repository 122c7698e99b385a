//! What one Rust source file says about modules: what it declares, defines,
//! imports and names by path. It is read from tokens, so code inside macros
//! counts too; what is compiled for tests alone does not.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The segments of a path: `crate`, `board`, `Task`.
pub(crate) type Path = Vec<String>;

/// One module body: a file, or an inline `mod name { … }`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Body {
    /// `mod name;`, with the file of a `#[path]`.
    pub(crate) declared: Vec<(String, Option<String>)>,
    pub(crate) inline: Vec<(String, Body)>,
    pub(crate) items: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    /// Paths of two segments and more, wherever they stand in the code.
    pub(crate) paths: BTreeSet<Path>,
    /// Every identifier, to know what of a glob import is used.
    pub(crate) names: BTreeSet<String>,
}

/// One leaf of a `use` declaration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Import {
    Name {
        binding: String,
        path: Path,
        purpose: Purpose,
    },
    Glob {
        path: Path,
    },
}

/// What an import is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `use`: for this file.
    Use,
    /// `pub use`: to pass on, and for this file if it names it.
    PassOn,
}

/// A file as it is read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) body: Body,
    /// Lines that are compiled into the product.
    pub(crate) lines: usize,
    /// Whether all of it is for tests.
    pub(crate) is_test: bool,
}

/// Reads a file; the error is what the tokenizer says.
pub(crate) fn read(text: &str) -> Result<Source, String> {
    let tokens = TokenStream::from_str(text).map_err(|error| error.to_string())?;
    let mut reader = Reader::default();
    let mut body = Body::default();
    reader.module(tokens, &mut body);
    let total = text.lines().count();
    Ok(Source {
        body,
        lines: if reader.whole_file {
            0
        } else {
            total.saturating_sub(reader.test_lines.len())
        },
        is_test: reader.whole_file,
    })
}

#[derive(Debug, Default)]
struct Reader {
    test_lines: BTreeSet<usize>,
    whole_file: bool,
}

/// What stands before an item.
#[derive(Debug, Default)]
struct Attributes {
    for_tests: bool,
    file: Option<String>,
    begin: Option<Span>,
}

impl Reader {
    /// The items of a module.
    fn module(&mut self, tokens: TokenStream, body: &mut Body) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        let mut before = Attributes::default();
        while at < tokens.len() {
            if let Some(next) = self.attribute(&tokens, at, &mut before) {
                at = next;
                continue;
            }
            let end = end_of_item(&tokens, at);
            if before.for_tests {
                self.skip(&before, &tokens[at..end]);
            } else {
                self.item(&tokens[at..end], before.file.take(), body);
            }
            before = Attributes::default();
            at = end;
        }
    }

    /// One item, whole: from its visibility to its last brace or semicolon.
    fn item(&mut self, tokens: &[TokenTree], file: Option<String>, body: &mut Body) {
        let keyword = tokens.iter().position(|token| {
            matches!(token, TokenTree::Ident(word)
                if ITEM_KEYWORDS.contains(&word.to_string().as_str()))
        });
        let word = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(word)) => Some(word.to_string()),
            _ => None,
        };
        let Some((at, kind)) = keyword.and_then(|at| Some((at, word(at)?))) else {
            return self.code(tokens, body);
        };
        // `const fn`, `unsafe impl`, `async fn`: the last keyword says what it is.
        let mut name_at = at + 1;
        while word(name_at).is_some_and(|next| ITEM_KEYWORDS.contains(&next.as_str())) {
            name_at += 1;
        }
        match kind.as_str() {
            "use" => {
                let purpose = if word(0).as_deref() == Some("pub") {
                    Purpose::PassOn
                } else {
                    Purpose::Use
                };
                imports(&tokens[at + 1..], &[], purpose, &mut body.imports);
            }
            "mod" => {
                let Some(name) = word(at + 1) else { return };
                let inner = tokens.iter().find_map(|token| match token {
                    TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                        Some(group.stream())
                    }
                    _ => None,
                });
                match inner {
                    Some(stream) => {
                        let mut inner = Body::default();
                        self.module(stream, &mut inner);
                        body.inline.push((name, inner));
                    }
                    None => body.declared.push((name, file)),
                }
            }
            "impl" => self.code(&tokens[at..], body),
            "macro_rules" => {
                // macro_rules ! name { … }
                body.items.extend(word(at + 2));
                self.code(&tokens[at + 2..], body);
            }
            _ => {
                body.items.extend(word(name_at));
                self.code(&tokens[at..], body);
            }
        }
    }

    /// Code of any kind: collects the paths and names in it.
    fn code(&mut self, tokens: &[TokenTree], body: &mut Body) {
        let mut at = 0;
        let mut before = Attributes::default();
        while at < tokens.len() {
            if let Some(next) = self.attribute(tokens, at, &mut before) {
                at = next;
                continue;
            }
            if std::mem::take(&mut before).for_tests {
                let end = end_of_statement(tokens, at);
                self.skip(&Attributes::default(), &tokens[at..end]);
                at = end;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(word) if *word == "use" && begins_import(tokens, at + 1) => {
                    let end = end_of_import(tokens, at);
                    imports(&tokens[at + 1..end], &[], Purpose::Use, &mut body.imports);
                    at = end;
                }
                TokenTree::Ident(_) => {
                    let (path, end) = path_at(tokens, at);
                    body.names.extend(path.first().cloned());
                    // After `::` alone it is the name of another crate.
                    if path.len() > 1 && !(at > 1 && is_separator(tokens, at - 2)) {
                        body.paths.insert(path);
                    }
                    at = end;
                }
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    self.code(&inner, body);
                    at += 1;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at += 1,
            }
        }
    }

    /// Reads the attribute at this place, if there is one, and says what follows.
    fn attribute(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        before: &mut Attributes,
    ) -> Option<usize> {
        if !is_punct(tokens.get(at), '#') {
            return None;
        }
        let inner = is_punct(tokens.get(at + 1), '!');
        let group_at = if inner { at + 2 } else { at + 1 };
        let Some(TokenTree::Group(group)) = tokens.get(group_at) else {
            return None;
        };
        if group.delimiter() != Delimiter::Bracket {
            return None;
        }
        let content: Vec<_> = group.stream().into_iter().collect();
        if inner {
            self.whole_file |= is_for_tests(&content);
        } else {
            before.begin.get_or_insert(tokens[at].span());
            before.for_tests |= is_for_tests(&content);
            if let [TokenTree::Ident(name), _, TokenTree::Literal(file)] = content.as_slice()
                && *name == "path"
            {
                before.file = Some(file.to_string().trim_matches('"').to_owned());
            }
        }
        Some(group_at + 1)
    }

    fn skip(&mut self, before: &Attributes, tokens: &[TokenTree]) {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return;
        };
        let begin = before.begin.unwrap_or_else(|| first.span());
        self.test_lines
            .extend(begin.start().line..=last.span().end().line);
    }
}

const ITEM_KEYWORDS: [&str; 14] = [
    "use",
    "mod",
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "const",
    "static",
    "impl",
    "macro_rules",
    "unsafe",
    "async",
];

/// `#[cfg(test)]` in any combination, `#[test]`, `#[tokio::test]`; not
/// `#[cfg(not(test))]`.
fn is_for_tests(content: &[TokenTree]) -> bool {
    let word = |token: &TokenTree| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    };
    match content {
        [TokenTree::Ident(name), TokenTree::Group(condition)] if *name == "cfg" => {
            asks_for_tests(condition.stream())
        }
        [.., last] if content.len() != 2 => word(last).as_deref() == Some("test"),
        [name, TokenTree::Group(_)] => word(name).as_deref() == Some("test"),
        _ => false,
    }
}

fn asks_for_tests(condition: TokenStream) -> bool {
    let mut negated = false;
    for token in condition {
        match token {
            TokenTree::Ident(word) if word == "not" => negated = true,
            TokenTree::Ident(word) => {
                if word == "test" {
                    return true;
                }
                negated = false;
            }
            TokenTree::Group(group) => {
                if !negated && asks_for_tests(group.stream()) {
                    return true;
                }
                negated = false;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    false
}

/// Where the item that begins here ends: after its semicolon, or after the brace
/// of its body.
fn end_of_item(tokens: &[TokenTree], begin: usize) -> usize {
    let ends_with_semicolon = tokens[begin..]
        .iter()
        .find_map(|token| match token {
            TokenTree::Ident(word) => match word.to_string().as_str() {
                "use" | "static" | "type" => Some(true),
                "fn" | "struct" | "enum" | "union" | "trait" | "impl" | "mod" | "macro_rules" => {
                    Some(false)
                }
                _ => None,
            },
            _ => None,
        })
        .unwrap_or(false);
    let is_constant = is_constant(tokens, begin);
    let mut at = begin;
    while at < tokens.len() {
        match &tokens[at] {
            token if is_punct(Some(token), ';') => return at + 1,
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace
                    && !ends_with_semicolon
                    && !is_constant =>
            {
                return at + 1;
            }
            _ => at += 1,
        }
    }
    tokens.len()
}

/// `const NAME: …`, whose value may hold braces; not `const fn`.
fn is_constant(tokens: &[TokenTree], begin: usize) -> bool {
    let mut words = tokens[begin..].iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    });
    words
        .by_ref()
        .find(|word| word != "pub" && word != "crate" && word != "super")
        .is_some_and(|word| word == "const")
        && words
            .next()
            .is_some_and(|word| !["fn", "unsafe", "async", "extern"].contains(&word.as_str()))
}

/// A statement, a field or an arm: to its semicolon, comma or body.
fn end_of_statement(tokens: &[TokenTree], begin: usize) -> usize {
    let end = tokens[begin..].iter().position(|token| match token {
        TokenTree::Punct(mark) => matches!(mark.as_char(), ';' | ','),
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Ident(_) | TokenTree::Literal(_) => false,
    });
    end.map_or(tokens.len(), |end| begin + end + 1)
}

/// Not `use<'a>`, which names the lifetimes that a type captures.
fn begins_import(tokens: &[TokenTree], at: usize) -> bool {
    match tokens.get(at) {
        Some(TokenTree::Ident(_)) => true,
        Some(TokenTree::Punct(mark)) => mark.as_char() == ':',
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

fn end_of_import(tokens: &[TokenTree], begin: usize) -> usize {
    let end = tokens[begin..]
        .iter()
        .position(|token| is_punct(Some(token), ';'));
    end.map_or(tokens.len(), |end| begin + end)
}

/// The leaves of a use tree, under the path before it.
fn imports(tokens: &[TokenTree], under: &[String], purpose: Purpose, found: &mut Vec<Import>) {
    for branch in
        tokens.split(|token| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ','))
    {
        let mut path = under.to_vec();
        let mut binding = None;
        let mut at = 0;
        while at < branch.len() {
            match &branch[at] {
                TokenTree::Ident(word) if *word == "as" => {
                    binding = branch.get(at + 1).map(ToString::to_string);
                    at += 1;
                }
                // `self` at the end of a list is the module the list is of.
                TokenTree::Ident(word) if *word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    imports(&inner, &path, purpose, found);
                    path.clear();
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    found.push(Import::Glob {
                        path: std::mem::take(&mut path),
                    });
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
        if let Some(last) = path.last() {
            found.push(Import::Name {
                binding: binding.unwrap_or_else(|| last.clone()),
                path,
                purpose,
            });
        }
    }
}

/// The longest path that begins at an identifier, and what comes after it.
fn path_at(tokens: &[TokenTree], begin: usize) -> (Path, usize) {
    let mut path = vec![tokens[begin].to_string()];
    let mut at = begin + 1;
    while is_separator(tokens, at) {
        let Some(TokenTree::Ident(word)) = tokens.get(at + 2) else {
            break;
        };
        path.push(word.to_string());
        at += 3;
    }
    (path, at)
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        text.split("::").map(str::to_owned).collect()
    }

    fn import(binding: &str, of: &str, purpose: Purpose) -> Import {
        Import::Name {
            binding: binding.to_owned(),
            path: path(of),
            purpose,
        }
    }

    fn name(binding: &str, of: &str) -> Import {
        import(binding, of, Purpose::Use)
    }

    #[test]
    fn a_use_tree_is_taken_apart() {
        let source = read("pub use crate::a::{self, b::C as D, e::*}; use super::F;").unwrap();
        let expected = vec![
            import("a", "crate::a", Purpose::PassOn),
            import("D", "crate::a::b::C", Purpose::PassOn),
            Import::Glob {
                path: path("crate::a::e"),
            },
            name("F", "super::F"),
        ];
        assert_eq!(source.body.imports, expected);
    }

    #[test]
    fn items_modules_and_paths_are_found_wherever_they_stand() {
        let source = read(
            r#"
            mod near;
            #[path = "elsewhere.rs"] pub(crate) mod far;
            mod inline { pub const fn inner() {} }
            pub const TABLE: [u8; 2] = { [1, 2] };
            pub(crate) async fn run<T: crate::traits::Bound>() -> Result<(), String> {
                use super::helper;
                tokio::select! { _ = near::wait() => {} }
                let text = "crate::not::this"; // nor crate::that
                ::std::mem::drop(text);
                Ok(())
            }
            macro_rules! made { () => {} }
            impl Shape for Circle { fn draw(&self) { self.canvas.line::<u8>(); } }
            "#,
        )
        .unwrap()
        .body;
        assert_eq!(
            source.declared,
            vec![
                ("near".to_owned(), None),
                ("far".to_owned(), Some("elsewhere.rs".to_owned()))
            ]
        );
        assert_eq!(source.inline[0].0, "inline");
        assert!(source.inline[0].1.items.contains("inner"));
        assert_eq!(
            source.items,
            BTreeSet::from(["TABLE", "run", "made"].map(str::to_owned))
        );
        assert_eq!(source.imports, vec![name("helper", "super::helper")]);
        assert_eq!(
            source.paths,
            BTreeSet::from([
                path("crate::traits::Bound"),
                path("tokio::select"),
                path("near::wait"),
            ])
        );
    }

    #[test]
    fn what_is_for_tests_does_not_count() {
        let text = "\
use crate::a::A;

fn product() {}

#[cfg(test)]
mod tests {
    use crate::b::B;
    #[test]
    fn works() {}
}

#[cfg(all(test, unix))]
use crate::c::C;

#[cfg(not(test))]
use crate::d::D;
";
        let source = read(text).unwrap();
        assert_eq!(
            source.body.imports,
            vec![name("A", "crate::a::A"), name("D", "crate::d::D")]
        );
        assert_eq!(source.lines, 8);
        assert!(!source.is_test);
        assert!(read("#![cfg(test)]\nfn helper() {}").unwrap().is_test);
    }
}
