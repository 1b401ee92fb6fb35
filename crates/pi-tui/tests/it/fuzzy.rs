//! Scores of fuzzy matches, computed by hand.

use pi_tui::fuzzy;

#[test]
fn scores_are_those_of_the_rules() {
    let cases = [
        ("", "anything", Some(0)),
        // Start of a word −10.
        ("m", "model", Some(-100)),
        // Start −10; second of a run −5; positions 0 + 0.1.
        ("mo", "model", Some(-100 - 50 + 1)),
        // Runs grow: −5, −10; positions 0.1 + 0.2.
        ("mod", "model", Some(-100 - 50 - 100 + 3)),
        // After a hyphen; positions 0.7 + 0.8.
        ("mo", "scoped-models", Some(-100 - 50 + 15)),
        // One character between the matches: +2; positions 0.1 + 0.3.
        ("mo", "import", Some(20 + 4)),
        // The whole text: −100.
        ("new", "new", Some(-1000 - 100 - 50 - 100 + 3)),
        ("NEW", "New", Some(-1000 - 100 - 50 - 100 + 3)),
        // The word in one piece, later in the text, is better than the first scattered match.
        ("ab", "a-xab", Some(-50 + 7)),
        ("ab", "a-ab", Some(-100 - 50 + 5)),
        // Letters and digits exchanged: +5.
        ("gpt5", "5gpt", Some(-100 - 50 - 100 - 150 + 6 + 50)),
        ("5gpt", "gpt5", Some(-100 - 50 - 100 - 150 + 6 + 50)),
        ("g5x", "5xg", None),
        // Words match on their own, in any order.
        ("b a", "a b", Some(-100 + 2 - 100)),
        ("src/main", "main src", Some(-100 - 50 - 100 + 18 - 100 - 50 - 100 - 150 + 6)),
        ("a z", "a b", None),
        ("ba", "ab", None),
        ("long query", "lo", None),
        ("ÄÖ", "äö", Some(-1000 - 100 - 50 + 1)),
    ];
    for (query, text, score) in cases {
        assert_eq!(fuzzy::score(query, text), score, "{query:?} in {text:?}");
    }
}

#[test]
fn the_best_match_comes_first_and_equal_ones_keep_their_order() {
    let commands = ["import", "scoped-models", "model", "tree"];
    let found: Vec<&str> =
        fuzzy::filter("mo", &commands, |it| *it).iter().map(|index| commands[*index]).collect();
    assert_eq!(found, ["model", "scoped-models", "import"]);
    assert_eq!(fuzzy::filter("", &commands, |it| *it), [0, 1, 2, 3]);
    assert_eq!(fuzzy::filter("x", &["ax", "bx"], |it| *it), [0, 1]);
}
