//! Tests of the document against a plain list.

use proptest::prelude::*;

use super::heights::Heights;

#[derive(Debug, Clone)]
enum Step {
    Push(usize),
    Insert(usize, usize),
    Remove(usize),
    Set(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..9usize).prop_map(Step::Push),
        2 => (any::<usize>(), 0..9usize).prop_map(|(at, height)| Step::Insert(at, height)),
        1 => any::<usize>().prop_map(Step::Remove),
        2 => (any::<usize>(), 0..9usize).prop_map(|(at, height)| Step::Set(at, height)),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn heights_agree_with_a_list(steps in steps()) {
        let mut heights = Heights::default();
        let mut list: Vec<(u32, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Push(height) => list.push((heights.push(height), height)),
                Step::Insert(at, height) if !list.is_empty() => {
                    let at = at % list.len();
                    let node = heights.insert_before(list[at].0, height);
                    list.insert(at, (node, height));
                }
                Step::Remove(at) if !list.is_empty() => {
                    let at = at % list.len();
                    heights.remove(list.remove(at).0);
                }
                Step::Set(at, height) if !list.is_empty() => {
                    let at = at % list.len();
                    list[at].1 = height;
                    heights.set(list[at].0, height);
                }
                _ => {}
            }
        }
        prop_assert_eq!(heights.len(), list.len());
        let mut row = 0;
        for (index, (node, height)) in list.iter().enumerate() {
            prop_assert_eq!(heights.before(*node), (index, row));
            for line in 0..*height {
                prop_assert_eq!(heights.at(row + line), Some((*node, line)));
            }
            prop_assert_eq!(heights.next(*node), list.get(index + 1).map(|next| next.0));
            let previous = index.checked_sub(1).map(|previous| list[previous].0);
            prop_assert_eq!(heights.previous(*node), previous);
            row += height;
        }
        prop_assert_eq!((heights.total(), heights.at(row)), (row, None));
    }
}

#[test]
fn many_appends_stay_shallow() {
    let mut heights = Heights::default();
    for _ in 0..40_000 {
        heights.push(3);
    }
    let mut depth = 0;
    let mut node = heights.first();
    while let Some(next) = node.filter(|_| depth < 1_000) {
        node = heights.parent(next);
        depth += 1;
    }
    assert!(depth < 64, "{depth}");
}
