use super::*;

#[test]
fn every_name_has_one_entry() {
    let names = &INDEX.names;
    let twice: Vec<&str> =
        names.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
    assert_eq!(twice, [""; 0]);
    assert!(names.len() > 700, "{}", names.len());
}
