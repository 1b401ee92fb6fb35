//! Random scripts: by a grammar, with a few bytes changed, or of loose tokens.

/// A random number generator with a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most.max(1) as u64).unwrap()
    }

    pub(super) fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Programs that only record that they ran.
pub(super) const STUBS: &[&str] =
    &["cat", "rm", "curl", "git", "ls", "head", "wc", "cp", "touch", "mkdir", "ssh", "a", "x"];
/// Real programs that start others.
pub(super) const REAL: &[&str] = &[
    "env", "xargs", "sh", "bash", "dash", "find", "timeout", "nice", "nohup", "setsid", "stdbuf",
    "sed", "awk", "time", "ionice", "flock", "taskset", "chrt", "setarch", "prlimit", "split",
    "sort",
];

const TOKENS: &[&str] = &[
    "cat",
    "cat",
    "cat",
    "rm",
    "c",
    "at",
    "ls",
    "git push",
    "x",
    " ",
    " ",
    " ",
    ";",
    "&&",
    "||",
    "|",
    "\n",
    "\n",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\",
    "$(",
    ")",
    "`",
    "`",
    "{",
    "}",
    "(",
    ")",
    "<<E\n",
    "\nE\n",
    "<<-E\n",
    "<<'E'\n",
    "<<\"E\"\n",
    "<<\\E\n",
    "E",
    "<",
    "> o",
    "2>&1",
    "#",
    "if ",
    "then ",
    "fi",
    "do ",
    "done",
    "for i in ",
    "case x in ",
    "esac",
    "x)",
    ";;",
    ";&",
    ";;&",
    "$x",
    "${x:-",
    "${",
    "=",
    "x=",
    "[[ ",
    " ]]",
    "[",
    "]",
    "$'",
    "$\"",
    "!",
    "*",
    "?",
    "~",
    "$((",
    "))",
    "((",
    "&",
    "-",
    "--",
    "echo ",
    "env ",
    "bash -c ",
    "<(",
    ">(",
    "<<<",
    "\t",
    "\\\n",
    "a",
    "1",
    "function ",
    "f()",
    "f ",
    "@(",
    "+(",
    "!(",
    "|&",
    ">&",
    "&>",
    "${x#",
    "${x/",
    "%",
    "time ",
    "\\'",
    "\\\"",
    "\\\\",
    "a=(",
    "a[",
    "]=",
    "declare ",
    "export ",
    "local ",
    "E\n",
    "''",
    "\"\"",
    "-n",
    "-f",
    "-eq ",
    "==",
    "=~ ",
    "\r",
    "\u{a0}",
    "\u{b}",
    "\u{c}",
    "é",
    "coproc ",
    "select i in ",
    "until ",
    "while ",
    "else ",
    "elif ",
    "in ",
    "let ",
    "read ",
    "printf -v ",
    "exec ",
    "command ",
    "builtin ",
    "eval ",
    "{a,b}",
    "{1..3}",
    "$@",
    "$*",
    "$#",
    "$?",
    "$!",
    "$$",
    "$0",
    "$[",
    "xargs ",
    "find . -exec ",
    " \\;",
    " +",
    "{}",
    "timeout 1 ",
    "nice ",
    "\n\n",
    "\\\n\\\n",
    " #",
    "# ",
    "!cat",
    "^",
    ",",
    ":",
    "@",
    "+=",
    "+",
    "|| ",
    "$",
    "1>",
    "{fd}<",
];

/// Returns a random script.
pub(super) fn script(random: &mut Random) -> String {
    match random.below(10) {
        0..5 => {
            let depth = random.below(4);
            list(random, depth)
        }
        5..8 => {
            let depth = random.below(3);
            let mut text = list(random, depth);
            for _ in 0..=random.below(3) {
                mutate(&mut text, random);
            }
            text
        }
        _ => (0..2 + random.below(10)).map(|_| random.pick(TOKENS)).collect(),
    }
}

fn mutate(text: &mut String, random: &mut Random) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let at = places[random.below(places.len())];
    match random.below(3) {
        0 => text.insert_str(at, random.pick(TOKENS)),
        1 if at < text.len() => {
            text.remove(at);
        }
        _ => {
            let to = places[random.below(places.len())];
            let piece = text[at.min(to)..at.max(to)].to_owned();
            text.insert_str(at, &piece);
        }
    }
}

fn list(random: &mut Random, depth: usize) -> String {
    let mut text = statement(random, depth);
    for _ in 0..random.below(3) {
        let between =
            ["; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";\n", " \\\n&& ", " # x\n", ";;"];
        let rare = usize::from(!random.one_in(20));
        text.push_str(random.pick(&between[..between.len() - rare]));
        text.push_str(&statement(random, depth));
    }
    text
}

fn statement(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(2) {
        return simple(random, depth);
    }
    let inner = list(random, depth - 1);
    let other = simple(random, depth - 1);
    let word = word(random, depth - 1);
    match random.below(28) {
        0 => format!("({inner})"),
        1 => format!("{{ {inner}; }}"),
        2 => format!("if {other}; then {inner}; fi"),
        3 => format!("if false; then {other}; else {inner}\nfi"),
        4 => format!("for i in 1 {word}; do {inner}; done"),
        5 => format!("for ((i=0;i<1;i++)); do {inner}; done"),
        6 => format!("while {other}; do {inner}; break; done"),
        7 => format!("case {word} in {word}) {inner};; *) {other};; esac"),
        8 => format!("case x in (x|y) {inner} ;& z) {other} ;; esac"),
        9 => format!("f() {{ {inner}; }}; f {word}"),
        10 => format!("function f\n{{ {inner}\n}}; f"),
        11 => format!("[[ {word} == {word} ]] && {inner}"),
        12 => format!("[[ -n {word} || {word} =~ {word} ]]; {inner}"),
        13 => format!("! {inner}"),
        14 => format!("time {inner}"),
        15 => format!("{inner} > o 2>&1"),
        16 => format!("wc <<E\n{inner}\nE\n{other}"),
        17 => format!("wc <<'E'\n{inner}\nE\n{other}"),
        18 => format!("wc <<-E | {other}\n\t$({other})\n\tE\n"),
        19 => format!("wc <<< {word}; {inner}"),
        20 => format!("coproc {{ {inner}; }}"),
        21 => format!("trap {} EXIT", quoted(&inner, random)),
        22 => format!("eval {}", quoted(&inner, random)),
        23 => format!("alias ls={}\nls", quoted(&inner, random)),
        24 => format!("wc <<\\E <<F\n{inner}\nE\n$({other})\nF\n{other}"),
        25 => format!("((x = {})) && {inner}", random.below(9)),
        26 => format!("select i in {word}; do {inner}; break; done < f"),
        _ => format!("until {other}; do {inner}; break; done"),
    }
}

fn simple(random: &mut Random, depth: usize) -> String {
    let mut text = String::new();
    if random.one_in(6) {
        let name = random.pick(&["x", "y", "IFS", "PATH", "PS4", "BASH_ENV", "a[0]", "x+", "z"]);
        text.push_str(&format!("{name}={} ", word(random, depth.saturating_sub(1))));
        if random.one_in(3) {
            return text;
        }
    }
    if random.one_in(8) {
        text.push_str(
            random
                .pick(&["<f ", ">o ", "2>&1 ", "3<f ", "<<<x ", "&>o ", ">|o ", "{v}<f ", "<&3 "]),
        );
    }
    if random.one_in(4) {
        text.push_str(&wrapper(random, depth));
        text.push(' ');
    }
    if random.one_in(9) {
        text.push_str(&builtin(random, depth));
    } else {
        text.push_str(&program(random, depth));
    }
    for _ in 0..random.below(3) {
        text.push_str(random.pick(&[" ", " ", " ", "  ", "\t", " \\\n"]));
        text.push_str(&word(random, depth));
    }
    if random.one_in(8) {
        text.push_str(
            random.pick(&[" <f", " >o", " 2>&1", " >>o", " <<<x", " # cat", " &>o", "<f", " <>o"]),
        );
    }
    text
}

fn program(random: &mut Random, depth: usize) -> String {
    let name = STUBS[random.below(STUBS.len())];
    let name = if random.one_in(2) { "cat" } else { name };
    match random.below(8) {
        0..4 => name.to_owned(),
        4..7 => quoted(name, random),
        _ => word(random, depth),
    }
}

fn wrapper(random: &mut Random, depth: usize) -> String {
    let script = quoted(&list(random, depth.saturating_sub(1).min(1)), random);
    let wrappers = [
        "env",
        "env x=1",
        "env -i PATH=\"$PATH\"",
        "env -u x",
        "env --",
        "env - PATH=\"$PATH\"",
        "env -S",
        "command",
        "command -p",
        "command --",
        "builtin",
        "exec",
        "exec -a x",
        "exec -c",
        "nohup",
        "nice",
        "nice -n 1",
        "nice -1",
        "timeout 1",
        "timeout -k 1 1",
        "timeout -s KILL 1",
        "setsid -w",
        "stdbuf -o0",
        "xargs",
        "xargs -n1",
        "xargs -I{}",
        "xargs -0",
        "xargs -i",
        "xargs -l",
        "xargs -a f",
        "find f -exec",
        "find f -maxdepth 0 -exec",
        "time",
        "time -p",
        "ionice -c 3",
        "flock f",
        "taskset 1",
        "taskset -c 0",
        "chrt -o 0",
        "setarch x86_64",
        "setarch -R",
        "prlimit",
        "! ",
        "coproc",
        "then",
        "\\env",
        "e\"n\"v",
        "timeout --foreground 1",
        "timeout -v 1",
        "env -C .",
        "env -0",
        "exec -la y",
        "command -v",
        "env -v",
    ];
    match random.below(12) {
        0 => format!("sh -c {script}"),
        1 => format!("bash -c {script} x"),
        2 => format!("bash -ec {script}; "),
        3 => format!("find f -exec sh -c {script} \\; ; "),
        4 => format!("env bash --norc -c {script} ;"),
        5 => format!("echo {script} | sh ;"),
        6 => format!("sh <<< {script} ;"),
        7 => format!("{} {}", random.pick(&wrappers), random.pick(&wrappers)),
        _ => random.pick(&wrappers).to_owned(),
    }
}

fn builtin(random: &mut Random, depth: usize) -> String {
    let script = list(random, depth.saturating_sub(1).min(1));
    let text = quoted(&format!("a[$({script})]"), random);
    let builtins = [
        "echo",
        "printf %s",
        "printf -v x %s",
        "printf -v",
        "printf",
        "read -r x",
        "read",
        "mapfile -t x",
        "declare x",
        "declare -n x",
        "declare -i x",
        "declare -a",
        "local x",
        "export x",
        "readonly x",
        "unset x",
        "set --",
        "set -k;",
        "set -x;",
        "set -f;",
        "shopt -s extglob;\n",
        "shopt -s expand_aliases\n",
        "hash -p ./f ls;",
        "enable -n echo;",
        "type",
        "let x=1",
        "test -v",
        "test -n",
        "[ -v x ];",
        "cd .;",
        "true",
        ":",
        "shift",
        "wait",
        "umask",
        "source f",
        ". ./f",
        "source /dev/stdin <<<",
        "mapfile -C",
        "unalias -a;",
        "set -o posix\n",
        "pushd .;",
        "exec 3<f;",
        "getopts x y",
        "kill -0 $$;",
        "ulimit -n;",
    ];
    match random.below(16) {
        0 => format!("test -v {text}"),
        1 => format!("read {text} < f"),
        2 => format!("declare {text}=1"),
        3 => format!("unset {text}"),
        4 => format!("let {text}"),
        5 => format!("x={text}; echo $((x))"),
        6 => format!("x={text}; echo ${{y:x}}"),
        7 => format!("printf -v {text} x"),
        8 => format!("x={text}; [[ x -eq 0 ]]"),
        9 => format!("PS4={}; set -x; ls", quoted(&format!("$({script})"), random)),
        _ => random.pick(&builtins).to_owned(),
    }
}

fn word(random: &mut Random, depth: usize) -> String {
    let plain = [
        "a.txt",
        "push",
        "-rf",
        "x",
        "f",
        "--",
        "-",
        "*",
        "?",
        "{a,b}",
        "{1..3}",
        "~",
        "a=b",
        "cat",
        "1",
        "$x",
        "\"$x\"",
        "${x}",
        "\"$@\"",
        "$*",
        "${x:-cat}",
        "${x:=cat}",
        "${x#a}",
        "${x%%b}",
        "${x/a/b}",
        "${#x}",
        "${x^^}",
        "${!x}",
        "${x@Q}",
        "${x:0:1}",
        "$((1+1))",
        "$(( x ))",
        "$[1]",
        "$?",
        "$$",
        "''",
        "\"\"",
        "[a]",
        "@(a|b)",
        "!(a)",
        "a#b",
        "\\#",
        "#",
        "!",
        "!!",
        "^a^b",
        "=",
        "==",
        "a[0]",
        "${a[@]}",
        "${a[0]}",
        "$'\\n'",
        "$'\\x63at'",
        "$\"cat\"",
        "%",
        ",",
        "\\;",
        "+",
        "é",
        "\u{2003}",
        "a\\ b",
        "{",
        "}",
        "~+",
        "${x-\"cat\"}",
        "\"${x:-'cat'}\"",
        "${x:-\"$x\"}",
        "\"a'b\"",
        "'a\"b'",
        "\\\"",
        "\\'",
        "\\\\",
        "-n1",
        "-c",
        "]]",
        "in",
    ];
    if depth == 0 || !random.one_in(4) {
        let text = random.pick(&plain);
        return if random.one_in(5) {
            format!("{text}{}", random.pick(&plain))
        } else {
            text.to_owned()
        };
    }
    let script = list(random, depth - 1);
    match random.below(14) {
        0 => format!("$({script})"),
        1 => format!("\"$({script})\""),
        2 => format!("`{}`", script.replace('`', "\\`")),
        3 => format!("<({script})"),
        4 => format!(">({script})"),
        5 => format!("${{x:-$({script})}}"),
        6 => format!("\"a${{x+$({script})}}b\""),
        7 => format!("$(( $({script}) + 1 ))"),
        8 => format!("${{a[$({script})]}}"),
        9 => format!("${{x/a/`{}`}}", script.replace('`', "\\`")),
        10 => quoted(&format!("$({script})"), random),
        11 => quoted(&script, random),
        12 => format!("\"`{}`\"", script.replace('`', "\\`").replace('"', "\\\"")),
        _ => format!("x=({} $({script}))", random.pick(&plain)),
    }
}

/// Returns the text as one word, quoted in a random way.
fn quoted(text: &str, random: &mut Random) -> String {
    match random.below(8) {
        0 | 1 => format!("'{}'", text.replace('\'', "'\\''")),
        2 => {
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{}\"", escaped.replace('$', "\\$").replace('`', "\\`"))
        }
        3 => {
            let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            format!("$'{escaped}'")
        }
        4 => {
            let codes: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{codes}'")
        }
        5 => {
            let codes: String = text.bytes().map(|byte| format!("\\{byte:03o}")).collect();
            format!("$'{codes}'")
        }
        6 => {
            text.chars().map(|c| if c == '\n' { "'\n'".into() } else { format!("\\{c}") }).collect()
        }
        _ => {
            let mut pieces = String::new();
            for c in text.chars() {
                match random.below(5) {
                    0 if c != '\'' => pieces.push_str(&format!("'{c}'")),
                    1 if !"\"$`\\!".contains(c) => pieces.push_str(&format!("\"{c}\"")),
                    2 if c.is_ascii_alphanumeric() && random.one_in(3) => {
                        pieces.push_str(&format!("\\\n{c}"));
                    }
                    _ if c.is_ascii_alphanumeric() => pieces.push(c),
                    _ if c == '\n' => pieces.push_str("'\n'"),
                    _ => pieces.extend(['\\', c]),
                }
            }
            pieces
        }
    }
}
