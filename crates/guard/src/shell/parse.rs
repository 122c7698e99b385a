//! The grammar: POSIX and what bash adds, read by recursive descent. What is not
//! understood is an error, never a guess: other shells (zsh above all) read some of
//! it in another way.

use super::scan::{Scanner, is_name};
use super::tree::{Assign, Command, Redirect, RedirectKind, Simple, Word};
use super::{MAX_DEPTH, MAX_TEXT, Unclear};

/// Reads a whole script.
pub(crate) fn parse(text: &str) -> Result<Vec<Command>, Unclear> {
    parse_at(text, 0)
}

pub(super) fn parse_at(text: &str, depth: u32) -> Result<Vec<Command>, Unclear> {
    if text.len() > MAX_TEXT {
        return Err(Unclear::TooLong);
    }
    let mut parser = Parser::new(text, depth)?;
    let list = parser.list(&[])?;
    parser.scan.at_end().then_some(list).ok_or(Unclear::Syntax)
}

pub(super) struct Parser {
    pub(super) scan: Scanner,
}

const CLOSING: [&str; 10] = [
    "then", "else", "elif", "fi", "do", "done", "esac", "}", "]]", ";;",
];

impl Parser {
    pub(super) fn new(text: &str, depth: u32) -> Result<Self, Unclear> {
        Ok(Self {
            scan: Scanner::new(text, depth)?,
        })
    }

    /// Commands up to one of these words, `)` or the end, which is not consumed.
    pub(super) fn list(&mut self, until: &[&str]) -> Result<Vec<Command>, Unclear> {
        let mut list = Vec::new();
        loop {
            self.scan.skip_blank_lines()?;
            if self.scan.at_end() || self.scan.looking_at(")") || self.at_word(until) {
                return Ok(list);
            }
            if CLOSING.iter().any(|word| self.at_reserved(word)) {
                return Err(Unclear::Syntax);
            }
            list.push(self.pipeline()?);
            self.scan.skip_blanks();
            let joined = self.scan.take("&&") || self.scan.take("||");
            if joined {
                self.scan.skip_blank_lines()?;
                if self.scan.at_end() || self.scan.looking_at(")") {
                    return Err(Unclear::Syntax);
                }
                continue;
            }
            if self.scan.looking_at(";;") {
                return Ok(list);
            }
            if self.scan.take(";") || self.scan.take("&") {
                self.scan.skip_blanks();
                if self.scan.looking_at(";;") {
                    return Ok(list);
                }
                if self.scan.looking_at("&") || self.scan.looking_at(";") {
                    return Err(Unclear::Syntax);
                }
                continue;
            }
            if self.scan.at_line_end() || self.scan.looking_at(")") || self.at_word(until) {
                continue;
            }
            return Err(Unclear::Syntax);
        }
    }

    fn at_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_reserved(word))
    }

    fn at_reserved(&self, word: &str) -> bool {
        if word == ";;" {
            return self.scan.looking_at(word);
        }
        self.scan.looking_at_whole(word)
    }

    fn expect(&mut self, word: &str) -> Result<(), Unclear> {
        self.scan.skip_blank_lines()?;
        if self.at_reserved(word) && self.scan.take(word) {
            return Ok(());
        }
        Err(Unclear::Syntax)
    }

    fn pipeline(&mut self) -> Result<Command, Unclear> {
        loop {
            self.scan.skip_blanks();
            if self.scan.looking_at_whole("!") {
                self.scan.take("!");
            } else if self.scan.looking_at_whole("time") {
                let begin = self.scan.at;
                self.scan.take("time");
                self.scan.skip_blanks();
                for option in ["-p", "--"] {
                    if self.scan.looking_at_whole(option) {
                        self.scan.take(option);
                        self.scan.skip_blanks();
                    }
                }
                // With another option it is the program of that name.
                if self.scan.looking_at("-") {
                    self.scan.at = begin;
                    break;
                }
            } else {
                break;
            }
        }
        let mut commands = vec![self.command()?];
        loop {
            self.scan.skip_blanks();
            if self.scan.looking_at("||") || !self.scan.take("|") {
                break;
            }
            self.scan.take("&");
            self.scan.skip_blank_lines()?;
            commands.push(self.command()?);
        }
        Ok(if commands.len() == 1 {
            commands.remove(0)
        } else {
            Command::Pipeline(commands)
        })
    }

    fn command(&mut self) -> Result<Command, Unclear> {
        self.scan.enter()?;
        let command = self.command_within();
        self.scan.leave();
        command
    }

    fn command_within(&mut self) -> Result<Command, Unclear> {
        self.scan.skip_blanks();
        if self.scan.looking_at("((") {
            return self.arithmetic();
        }
        if self.scan.take("(") {
            let list = self.list(&[])?;
            if !self.scan.take(")") || list.is_empty() {
                return Err(Unclear::Syntax);
            }
            return self.block(vec![list], true);
        }
        let word = self.scan.peek_name();
        match word.as_str() {
            "{" => {
                self.scan.take("{");
                let list = self.list(&["}"])?;
                self.expect("}")?;
                self.block(vec![list], false)
            }
            "if" => self.branch(),
            "while" | "until" => {
                self.scan.take(&word);
                let condition = self.list(&["do"])?;
                let body = self.do_group()?;
                self.block(vec![condition, body], false)
            }
            "for" => self.for_loop(),
            "case" => self.case(),
            "[[" => self.condition(),
            "function" => {
                self.scan.take("function");
                self.scan.skip_blanks();
                let name = self.scan.word()?.ok_or(Unclear::Syntax)?;
                self.scan.skip_blanks();
                if self.scan.take("(") {
                    self.scan.skip_blanks();
                    if !self.scan.take(")") {
                        return Err(Unclear::Syntax);
                    }
                }
                self.function(&name)
            }
            "select" | "coproc" | "foreach" | "repeat" | "always" | "nocorrect" | "noglob" => {
                Err(Unclear::Unusual)
            }
            "!" => Err(Unclear::Syntax),
            word if CLOSING.contains(&word) => Err(Unclear::Syntax),
            _ => self.simple(),
        }
    }

    fn block(&mut self, lists: Vec<Vec<Command>>, subshell: bool) -> Result<Command, Unclear> {
        Ok(Command::Block {
            lists,
            redirects: self.redirects()?,
            subshell,
        })
    }

    fn branch(&mut self) -> Result<Command, Unclear> {
        let mut lists = Vec::new();
        self.expect("if")?;
        loop {
            lists.push(self.list(&["then"])?);
            self.expect("then")?;
            lists.push(self.list(&["elif", "else", "fi"])?);
            if self.at_reserved("elif") {
                self.scan.take("elif");
                continue;
            }
            if self.at_reserved("else") {
                self.scan.take("else");
                lists.push(self.list(&["fi"])?);
            }
            self.expect("fi")?;
            break;
        }
        self.block(lists, false)
    }

    fn do_group(&mut self) -> Result<Vec<Command>, Unclear> {
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Result<Command, Unclear> {
        self.scan.take("for");
        self.scan.skip_blanks();
        if self.scan.looking_at("((") {
            let condition = self.arithmetic()?;
            self.scan.skip_blanks();
            self.scan.take(";");
            let body = self.do_group()?;
            return self.block(vec![vec![condition], body], false);
        }
        let name = self.scan.word()?.ok_or(Unclear::Syntax)?.written;
        if !is_name(&name) {
            return Err(Unclear::Syntax);
        }
        self.scan.skip_blank_lines()?;
        let words = if self.at_reserved("in") {
            self.scan.take("in");
            Some(self.words()?)
        } else {
            None
        };
        self.scan.skip_blanks();
        self.scan.take(";");
        let body = self.do_group()?;
        Ok(Command::For {
            name,
            words,
            body,
            redirects: self.redirects()?,
        })
    }

    fn words(&mut self) -> Result<Vec<Word>, Unclear> {
        let mut words = Vec::new();
        loop {
            self.scan.skip_blanks();
            match self.scan.word()? {
                Some(word) => words.push(word),
                None => return Ok(words),
            }
        }
    }

    fn case(&mut self) -> Result<Command, Unclear> {
        self.scan.take("case");
        self.scan.skip_blanks();
        let word = self.scan.word()?.ok_or(Unclear::Syntax)?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.scan.skip_blank_lines()?;
            if self.at_reserved("esac") {
                break;
            }
            self.scan.take("(");
            let mut patterns = Vec::new();
            loop {
                self.scan.skip_blanks();
                patterns.push(self.scan.word()?.ok_or(Unclear::Syntax)?);
                self.scan.skip_blanks();
                if !self.scan.take("|") {
                    break;
                }
            }
            if !self.scan.take(")") {
                return Err(Unclear::Syntax);
            }
            let body = self.list(&["esac", ";;"])?;
            arms.push((patterns, body));
            self.scan.skip_blank_lines()?;
            if self.scan.take(";;") {
                self.scan.take("&");
            }
        }
        self.expect("esac")?;
        Ok(Command::Case {
            word,
            arms,
            redirects: self.redirects()?,
        })
    }

    fn condition(&mut self) -> Result<Command, Unclear> {
        self.scan.take("[[");
        let mut words = Vec::new();
        loop {
            self.scan.skip_blank_lines()?;
            if self.scan.looking_at_whole("]]") {
                self.scan.take("]]");
                return Ok(Command::Condition(words));
            }
            let sign = ["&&", "||", "(", ")", "<", ">"];
            if sign.iter().any(|sign| self.scan.take(sign)) {
                continue;
            }
            words.push(self.scan.word()?.ok_or(Unclear::Syntax)?);
        }
    }

    fn arithmetic(&mut self) -> Result<Command, Unclear> {
        self.scan.take("((");
        let inner = self.scan.until_double_paren()?;
        let word = self.scan.expression(&inner)?;
        Ok(Command::Arithmetic(word))
    }

    fn function(&mut self, name: &Word) -> Result<Command, Unclear> {
        let name = name.literal().ok_or(Unclear::Unusual)?;
        self.scan.skip_blank_lines()?;
        let body = self.command()?;
        if matches!(body, Command::Simple(_) | Command::Function { .. }) {
            return Err(Unclear::Syntax);
        }
        Ok(Command::Function {
            name,
            body: Box::new(body),
        })
    }

    fn simple(&mut self) -> Result<Command, Unclear> {
        let mut simple = Simple::default();
        loop {
            self.scan.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assign) = self.assign()?
            {
                simple.assigns.push(assign);
                continue;
            }
            let Some(word) = self.scan.word()? else {
                break;
            };
            let first = simple.words.is_empty();
            self.scan.skip_blanks();
            if first && simple.assigns.is_empty() && self.scan.looking_at("(") {
                self.scan.take("(");
                self.scan.skip_blanks();
                if !self.scan.take(")") || !simple.redirects.is_empty() {
                    return Err(Unclear::Syntax);
                }
                return self.function(&word);
            }
            simple.words.push(word);
        }
        if simple == Simple::default() {
            return Err(Unclear::Syntax);
        }
        Ok(Command::Simple(simple))
    }

    fn assign(&mut self) -> Result<Option<Assign>, Unclear> {
        let Some((name, partial, appends)) = self.scan.take_assign_name()? else {
            return Ok(None);
        };
        if self.scan.take("(") {
            let mut all = Word::default();
            loop {
                self.scan.skip_blank_lines()?;
                if self.scan.take(")") {
                    break;
                }
                let word = self.scan.word()?.ok_or(Unclear::Syntax)?;
                all.pieces.extend(word.pieces);
            }
            return Ok(Some(Assign {
                name,
                partial: true,
                appends: false,
                value: all,
            }));
        }
        let value = self.scan.word()?.unwrap_or_default();
        Ok(Some(Assign {
            name,
            partial,
            appends,
            value,
        }))
    }

    fn redirects(&mut self) -> Result<Vec<Redirect>, Unclear> {
        let mut all = Vec::new();
        loop {
            self.scan.skip_blanks();
            match self.redirect()? {
                Some(redirect) => all.push(redirect),
                None => return Ok(all),
            }
        }
    }

    fn redirect(&mut self) -> Result<Option<Redirect>, Unclear> {
        let Some(operator) = self.scan.take_redirect()? else {
            return Ok(None);
        };
        if let Some(strip) = operator.strip_prefix("<<").filter(|rest| *rest != "<") {
            let target = self.scan.heredoc(strip == "-")?;
            return Ok(Some(Redirect {
                kind: RedirectKind::Text,
                target,
            }));
        }
        self.scan.skip_blanks();
        let target = self.scan.word()?.ok_or(Unclear::Syntax)?;
        let plain = target.literal().unwrap_or_default();
        let descriptor = plain == "-"
            || (!plain.is_empty()
                && plain
                    .trim_end_matches('-')
                    .bytes()
                    .all(|b| b.is_ascii_digit()));
        let kind = match operator.as_str() {
            "<<<" => RedirectKind::Text,
            "<" => RedirectKind::Read,
            "<>" => RedirectKind::ReadWrite,
            "<&" | ">&" if descriptor => RedirectKind::Duplicate,
            "<&" => return Err(Unclear::Unusual),
            // Another shell writes to the file that follows.
            _ if plain == "!" => return Err(Unclear::Unusual),
            _ => RedirectKind::Write,
        };
        Ok(Some(Redirect { kind, target }))
    }
}

/// Whether a tree may be entered so deep.
pub(super) fn check_depth(depth: u32) -> Result<(), Unclear> {
    if depth > MAX_DEPTH {
        return Err(Unclear::TooDeep);
    }
    Ok(())
}
