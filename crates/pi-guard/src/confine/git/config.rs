//! The format of git's configuration files, and the settings in them that run no program.
//!
//! The list names what is harmless: git gets new settings that run programs with every version.

use pi_base::text::without_mark;

/// One setting of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Setting {
    /// The section in lower case, such as `remote`.
    pub(in super::super) section: String,
    /// The text in quotes after the section, such as `origin`.
    pub(in super::super) subsection: Option<String>,
    /// The name in lower case, such as `url`.
    pub(in super::super) name: String,
    /// The value; empty for a setting without one, which means true.
    pub(in super::super) value: String,
}

/// Returns the settings, and false if git would refuse the text from there on.
pub(in super::super) fn parse(text: &str) -> (Vec<Setting>, bool) {
    let text = without_mark(text).replace("\r\n", "\n");
    let mut reader = Reader { text: &text, section: String::new(), subsection: None };
    let mut settings = Vec::new();
    loop {
        reader.text = reader.text.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
        match reader.text.chars().next() {
            None => return (settings, true),
            Some('#' | ';') => reader.skip_line(),
            Some('[') => {
                if reader.header().is_none() {
                    return (settings, false);
                }
            }
            Some(_) => match reader.setting() {
                Some(setting) => settings.push(setting),
                None => return (settings, false),
            },
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    section: String,
    subsection: Option<String>,
}

impl Reader<'_> {
    fn skip_line(&mut self) {
        self.text = self.text.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.text.chars();
        let next = characters.next();
        self.text = characters.as_str();
        next
    }

    /// Reads `[section]`, `[section "subsection"]` or `[section.subsection]`.
    fn header(&mut self) -> Option<()> {
        self.next()?;
        let end = self.text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
        let (name, rest) = self.text.split_at(end);
        let name = name.to_ascii_lowercase();
        (self.section, self.subsection) = match name.split_once('.') {
            Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
            None => (name, None),
        };
        self.text = rest.trim_start_matches([' ', '\t']);
        if self.text.starts_with('"') {
            self.next();
            let mut subsection = String::new();
            loop {
                match self.next()? {
                    '"' => break,
                    '\n' => return None,
                    '\\' => subsection.push(self.next()?),
                    other => subsection.push(other),
                }
            }
            self.subsection = Some(subsection);
        }
        (self.next()? == ']').then_some(())
    }

    fn setting(&mut self) -> Option<Setting> {
        let end = self.text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let (name, rest) = self.text.split_at(end.unwrap_or(self.text.len()));
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || self.section.is_empty() {
            return None;
        }
        let name = name.to_ascii_lowercase();
        self.text = rest.trim_start_matches([' ', '\t']);
        let value = match self.next() {
            None | Some('\n') => String::new(),
            Some('=') => self.value()?,
            Some(_) => return None,
        };
        let (section, subsection) = (self.section.clone(), self.subsection.clone());
        Some(Setting { section, subsection, name, value })
    }

    /// Reads a value up to the end of its line: quotes, escapes, comments and continued lines.
    fn value(&mut self) -> Option<String> {
        let mut value = String::new();
        // The length without blanks at the end, unless they are quoted.
        let mut solid = 0;
        let mut quoted = false;
        loop {
            match self.next() {
                None | Some('\n') if quoted => return None,
                None | Some('\n') => break,
                Some('#' | ';') if !quoted => {
                    self.skip_line();
                    break;
                }
                Some('"') => quoted = !quoted,
                Some('\\') => match self.next()? {
                    '\n' => continue,
                    't' => value.push('\t'),
                    'n' => value.push('\n'),
                    'b' => value.push('\u{8}'),
                    other @ ('\\' | '"') => value.push(other),
                    _ => return None,
                },
                Some(' ' | '\t') if !quoted => {
                    if !value.is_empty() {
                        value.push(' ');
                    }
                    continue;
                }
                Some(other) => value.push(other),
            }
            solid = value.len();
        }
        value.truncate(solid);
        Some(value)
    }
}

/// Sections in which no setting runs a program.
#[rustfmt::skip]
const SECTIONS: &[&str] = &[
    "add", "advice", "apply", "author", "branch", "checkout", "clean", "clone", "color", "column",
    "commit", "commitgraph", "committer", "extensions", "feature", "fetch", "format", "gitflow",
    "grep", "help", "http", "i18n", "index", "init", "log", "mailinfo", "maintenance", "notes",
    "pack", "pull", "push", "rebase", "receive", "rerere", "revert", "showbranch", "sparse",
    "splitindex", "stash", "status", "tag", "transfer", "url", "user", "versionsort", "worktree",
];

/// Settings of other sections that run no program; `*` stands for a subsection.
#[rustfmt::skip]
const SETTINGS: &[&str] = &[
    "core.abbrev", "core.autocrlf", "core.bare", "core.bigfilethreshold", "core.checkstat",
    "core.commitgraph", "core.compression", "core.eol", "core.filemode", "core.hidedotfiles",
    "core.ignorecase", "core.logallrefupdates", "core.longpaths", "core.multipackindex",
    "core.precomposeunicode", "core.preloadindex", "core.protecthfs", "core.protectntfs",
    "core.quotepath", "core.repositoryformatversion", "core.safecrlf", "core.sharedrepository",
    "core.sparsecheckout", "core.sparsecheckoutcone", "core.splitindex", "core.symlinks",
    "core.trustctime", "core.untrackedcache", "core.whitespace", "core.worktree",
    "diff.algorithm", "diff.colormoved", "diff.context", "diff.ignoresubmodules",
    "diff.mnemonicprefix", "diff.noprefix", "diff.renamelimit", "diff.renames", "diff.submodule",
    "gc.auto", "gc.autodetach", "gc.autopacklimit", "gc.pruneexpire", "gc.reflogexpire",
    "gc.reflogexpireunreachable", "gc.worktreepruneexpire", "lfs.repositoryformatversion",
    "merge.autostash", "merge.conflictstyle", "merge.ff", "merge.log", "merge.renames",
    "remote.*.fetch", "remote.*.gh-resolved", "remote.*.mirror", "remote.*.partialclonefilter",
    "remote.*.promisor", "remote.*.prune", "remote.*.prunetags", "remote.*.push",
    "remote.*.pushurl", "remote.*.skipdefaultupdate", "remote.*.skipfetchall", "remote.*.tagopt",
    "remote.*.url", "remote.pushdefault", "submodule.*.active", "submodule.*.branch",
    "submodule.*.fetchrecursesubmodules", "submodule.*.ignore", "submodule.*.path",
    "submodule.*.shallow", "submodule.*.url", "submodule.active", "submodule.recurse",
];

/// Settings that run no program with one of these values.
const VALUES: &[(&str, &[&str])] = &[
    ("core.fsmonitor", &["", "true", "false", "yes", "no", "on", "off", "1", "0"]),
    ("submodule.*.update", &["checkout", "rebase", "merge", "none"]),
];

/// Returns the settings that may run a program or read other files with settings.
pub(in super::super) fn offences(text: &str) -> Vec<String> {
    let (settings, complete) = parse(text);
    let mut offences: Vec<String> =
        settings.iter().filter(|setting| !is_harmless(setting)).map(Setting::to_string).collect();
    if !complete {
        offences.push("text that is not a configuration".to_owned());
    }
    offences
}

/// Returns the words of a setting that may be the program which git runs by itself, or its script. An
/// alias runs only when the user calls it.
pub(super) fn words_of_program(setting: &Setting) -> impl Iterator<Item = &str> {
    let runs = setting.section != "alias" && !is_harmless(setting);
    let value = if runs { setting.value.as_str() } else { "" };
    let is_part = |c: char| c.is_alphanumeric() || "/._-+@~%".contains(c);
    // A plain word is a program on the path, or an argument.
    value.split(move |c| !is_part(c)).filter(|word| word.contains(['/', '.']))
}

fn is_harmless(setting: &Setting) -> bool {
    let Setting { section, subsection, name, value } = setting;
    if SECTIONS.contains(&section.as_str()) {
        return true;
    }
    let middle = if subsection.is_some() { ".*" } else { "" };
    let name = format!("{section}{middle}.{name}");
    let value = value.to_ascii_lowercase();
    SETTINGS.contains(&name.as_str())
        || (section == "alias" && !value.starts_with('!'))
        || VALUES.iter().any(|(of, values)| *of == name && values.contains(&value.as_str()))
}

/// The setting in the notation of `git config`.
impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subsection {
            Some(subsection) => write!(f, "{}.{subsection}.{}", self.section, self.name)?,
            None => write!(f, "{}.{}", self.section, self.name)?,
        }
        write!(f, "={}", self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let cases = [
            ("[core]\n\tbare = false\n", "core.bare=false"),
            ("[Core] Bare", "core.bare="),
            ("[a \"B.c\"] x=1", "a.B.c.x=1"),
            ("[a.B] x=1", "a.b.x=1"),
            ("[a][b]x=1", "b.x=1"),
            ("# [a] \\\n[b] x = 1 # c", "b.x=1"),
            ("[a] x = \"one # \" two ; c", "a.x=one #  two"),
            ("[a] x = o\\\nne\\t\\\\", "a.x=one\t\\"),
            ("[a \"]\\\"\"]\r\nx=1\r\n", "a.]\".x=1"),
            ("\u{feff}[a] x=1", "a.x=1"),
        ];
        for (text, expected) in cases {
            let (settings, complete) = parse(text);
            let found: Vec<String> = settings.iter().map(Setting::to_string).collect();
            assert_eq!((found.join(" "), complete), (expected.to_owned(), true), "{text:?}");
        }
        for text in ["x=1", "[a] x = \"", "[a", "[a] = 1", "[a] x = \\q", "[a] x y", "[a] 1=2"] {
            assert!(!parse(text).1, "{text}");
        }
    }

    #[test]
    fn programs_of_settings_are_found() {
        for (text, expected) in [
            ("[core] fsmonitor = tools/watch", "tools/watch"),
            ("[filter \"f\"] clean = python3 'tools/f.py' --x=a.cfg %f", "tools/f.py a.cfg"),
            ("[filter \"lfs\"] clean = git-lfs clean -- %f", ""),
            ("[core] editor = vi", ""),
            ("[alias] x = !./x", ""),
            ("[remote \"o\"] url = ../x.git", ""),
        ] {
            let settings = parse(text).0;
            let words: Vec<&str> = settings.iter().flat_map(words_of_program).collect();
            assert_eq!(words.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn settings_that_run_programs_are_found() {
        let usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
            \tlogallrefupdates = true\n\tfsmonitor = true\n[remote \"origin\"]\n\turl = x\n\tfetch = y\n\
            [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = me\n\
            [submodule \"s\"]\n\turl = x\n\tactive = true\n[alias]\n\tst = status\n";
        assert_eq!(offences(usual), Vec::<String>::new());
        #[rustfmt::skip]
        let executing = [
            "core.fsmonitor=./x", "core.hooksPath=x", "core.sshCommand=x", "core.editor=x",
            "core.pager=x", "core.askPass=x", "core.gitProxy=x", "core.alternateRefsCommand=x",
            "core.attributesFile=x", "diff.external=x", "diff.d.textconv=x", "diff.d.command=x",
            "filter.f.clean=x", "filter.f.smudge=x", "filter.f.process=x", "alias.a=!x",
            "credential.helper=x", "credential.https://h.helper=x", "uploadpack.packObjectsHook=x",
            "gpg.program=x", "gpg.ssh.program=x", "include.path=x", "includeIf.gitdir:x.path=x",
            "merge.m.driver=x", "mergetool.m.cmd=x", "difftool.d.cmd=x", "pager.log=x",
            "sequence.editor=x", "remote.o.uploadpack=x", "remote.o.receivepack=x",
            "remote.o.vcs=x", "submodule.s.update=!x", "protocol.ext.allow=always",
            "gc.recentObjectsHook=x", "trailer.t.command=x", "browser.b.cmd=x", "man.m.cmd=x",
            "sendemail.sendmailCmd=x", "hook.h.command=x", "tar.t.command=x", "web.browser=x",
            "interactive.diffFilter=x", "lfs.customtransfer.t.path=x", "guitool.g.cmd=x",
            "ssh.variant=x", "new.setting=x",
        ];
        for setting in executing {
            let (key, value) = setting.split_once('=').unwrap();
            let (rest, name) = key.rsplit_once('.').unwrap();
            let section = match rest.split_once('.') {
                Some((section, sub)) => format!("[{section} \"{sub}\"]"),
                None => format!("[{rest}]"),
            };
            let text = format!("{usual}{section}\n\t{name} = {value}\n");
            assert_eq!(offences(&text).len(), 1, "{setting}");
        }
    }
}
