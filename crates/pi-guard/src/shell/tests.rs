//! The commands and uncertainties of scripts.

use super::*;

/// The commands of a script, with `?` for unknown words.
fn commands(script: &str) -> Vec<String> {
    let words = |command: &Command| -> Vec<String> {
        command.words.iter().map(|w| w.literal().unwrap_or("?").to_owned()).collect()
    };
    analyze(script).commands.iter().map(|c| words(c).join(" ")).collect()
}

#[test]
fn all_commands_are_found() {
    for (script, expected) in [
        ("cat a.txt 2>/dev/null", vec!["cat a.txt"]),
        ("echo $(cat a.txt)", vec!["echo ?", "cat a.txt"]),
        ("bash -c \"cat a.txt\"", vec!["bash -c cat a.txt", "cat a.txt"]),
        ("head -1 <(cat a.txt)", vec!["head -1 ?", "cat a.txt"]),
        ("c''a\\t 'a b'\"c\"", vec!["cat a bc"]),
        ("$'\\143at' x", vec!["cat x"]),
        ("cat >out a b", vec!["cat a b"]),
        ("a && b || c; d | e & f", vec!["a", "b", "c", "d", "e", "f"]),
        (
            "f() { a; }; if b; then c; elif d; then e; else g; fi",
            vec!["a", "b", "c", "d", "e", "g"],
        ),
        ("for i in $(a); do b; done; while c; do d; done", vec!["a", "b", "c", "d"]),
        ("case $(a) in x) b;; *) c;; esac; (d); { e; }", vec!["a", "b", "c", "d", "e"]),
        ("[[ -n $(a) ]] && b; ! c", vec!["a", "b", "c"]),
        ("cat <<E | b && c\n$(d)\nE", vec!["cat", "b", "c", "d"]),
        ("cat <<'E'\n$(d)\nE\n", vec!["cat"]),
        (
            "sudo -u x env A=1 nice -n 5 rm y",
            vec![
                "sudo -u x env A=1 nice -n 5 rm y",
                "env A=1 nice -n 5 rm y",
                "nice -n 5 rm y",
                "rm y",
            ],
        ),
        ("xargs -n1 rm", vec!["xargs -n1 rm", "rm ?"]),
        ("find . -exec rm {} \\; -exec a +", vec!["find . -exec rm {} ; -exec a +", "rm ?", "a"]),
        ("git -C x push", vec!["git -C x push", "git push"]),
        ("ca\\\nt a", vec!["ca t a", "cat a"]),
        ("export X=$(a)", vec!["export", "a"]),
    ] {
        assert_eq!(commands(script), expected, "{script}");
    }
}

#[test]
fn plain_scripts_are_certain() {
    for script in [
        "cat a.txt",
        "cargo build \\\n  --release",
        "ls *.rs | wc -l",
        "echo \"$HOME\" '$(x)'",
        "for f in *.txt; do echo \"$f\"; done",
        "if [ -f x ]; then cat x; fi",
        "echo $((1+2))",
        "git commit -m \"fix: a 'b'\"",
        "LC_ALL=C ls",
        "a=1; ls",
        "cat <<'E' > out\n`x`\nE\n",
        "x=$(ls); echo $x",
        "echo a#b # c",
        "test -f a && b 2>&1",
        "find . -name '*.rs' -exec wc -l {} +",
    ] {
        assert_eq!(analyze(script).uncertainties, [], "{script}");
    }
}

#[test]
fn other_scripts_are_uncertain() {
    for script in [
        "X=cat; $X a",
        "eval ls",
        ". ./x",
        "alias ls=rm",
        "ls() { rm x; }",
        "PATH=/tmp ls",
        "IFS=x",
        "{cat,a}",
        "/bin/c?t a",
        "`echo cat` a",
        "coproc ls",
        "exec 3<>x",
        "ls\r",
        "l\u{200B}s",
        "\u{0441}at a",
        "echo ${x:-`cat a`}",
        "x='a[$(cat f)]'; echo $((x))",
        "echo x | sh",
        "bash <<E\ncat a\nE",
        "env -S 'cat a'",
        "echo ${x@P}",
        "ls (",
        "\u{a0}ls",
    ] {
        assert_ne!(analyze(script).uncertainties, [], "{script}");
    }
}

#[test]
fn limits_are_enforced() {
    let nested = format!("{}x{}", "$(".repeat(5000), ")".repeat(5000));
    for script in ["a;".repeat(MAX_LENGTH), nested, "(".repeat(10_000), "a;".repeat(10_000)] {
        assert!(!analyze(&script).is_certain());
    }
}

/// The C code of the grammar crashes on these characters.
#[test]
fn every_character_is_accepted() {
    for c in ['\u{10FFFF}', '\u{1F600}', '\u{FFFF}', '\u{4E00}', '\u{0}', '\u{80}', 'é'] {
        for shape in
            ["c", "<<c\nc\nc", "${c}", "$c", "{c..c}", "a=c", "c=1", "[[ a =~ c ]] && x", "\"$c\""]
        {
            let script = shape.replace('c', &c.to_string());
            assert!(
                !analyze(&script).commands.is_empty() || !analyze(&script).is_certain(),
                "{script}"
            );
        }
    }
}

#[test]
fn quoted_words_are_read_back() {
    let cases =
        [("a-b", "a-b"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'")];
    for (word, expected) in cases {
        assert_eq!(quoted(word), expected);
        assert_eq!(analyze(expected).commands[0].program(), Some(word));
    }
}
