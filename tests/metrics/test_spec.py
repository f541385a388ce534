"""Names of measures and decisions: how they are parsed, and refusals."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.damage import answer
from tests.problems import SPECS
from xmleval import Conventions, Evaluator, compare, evaluate
from xmleval.metrics import GROUPS, TABLE
from xmleval.metrics.aliases import ALIASES_BY_SOURCE
from xmleval.metrics.spellings import MEANT, meaning


def names(metrics: Any, **cutoffs: Any) -> list[str]:
    return [spec.name for spec in Evaluator(metrics, **cutoffs).requested]


def parsed(text: str) -> Any:
    (spec,) = Evaluator([text]).requested
    return spec


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ("p@5 P@5 precision@5 prec@5 p@05 p5 prec5", "p@5"),
        ("nDCG@5 N@5 n5", "ndcg@5"),
        ("nDCG10", "ndcg@10"),
        ("RR@all", "mrr@all"),
        ("RR@10", "mrr@10"),
        ("recall@3 R@3", "r@3"),
        ("hits@3 success@3 hit3", "hit@3"),
        ("MAP_R@3", "map_r@3"),
        ("Rcap@3", "rcap@3"),
        ("PSP@3 psprecision@3", "psp@3"),
        ("PSRecall@3", "psr@3"),
        ("PSnDCG@3 PSN@3 psn_3", "psndcg@3"),
        ("psndcg_repo@3", "psdcg@3"),
        ("psndcg_raw@3", "psndcg_raw@3"),
        ("ap.samples label_ranking_average_precision", "lrap"),
        ("label_ranking_loss", "ranking_loss"),
        ("map_cut@3", "map_r@3"),
        ("ndcg_cut@3", "ndcg@3"),
        ("recip_rank", "mrr@all"),
        ("r_precision R-Prec r-precision", "rprec"),
        ("micro_recall_at_r", "rprec.micro"),
        ("subset-accuracy", "subset_accuracy"),
        ("macro_f1 f1_macro macro-F1", "f1.macro"),
        ("F1.Macro@5 f1-macro@5", "f1.macro@5"),
        ("roc_auc.micro roc_auc_micro micro_roc_auc", "auc.micro"),
        ("average_precision.micro", "ap.micro"),
        ("fbeta.micro(beta=0.50)", "fbeta.micro(beta=0.5)"),
        ("fbeta_samples(beta=2)", "fbeta.samples(beta=2)"),
        ("fbeta.of_means(beta=0)", "fbeta.of_means(beta=0)"),
        ("p@123456789", "p@123456789"),
    ],
)
def test_parse_spec_takes_spellings_of_a_measure(texts: str, name: str) -> None:
    for text in texts.split():
        assert names(text) == names(f" {text.replace('@', ' @ ')}") == [name]


@pytest.mark.parametrize("source", ALIASES_BY_SOURCE)
def test_aliases_are_read_in_any_case_and_with_hyphens(source: str) -> None:
    endings = {"@": ["@5", "@12"], ".": [".micro", ".macro"]}
    for alias, name in ALIASES_BY_SOURCE[source].items():
        for ending in endings.get(alias[-1], [""]):
            text = alias.rstrip("@.") + ending
            expected = names(name.rstrip("@.") + ending)
            for spelled in (text, text.upper(), text.replace("_", "-")):
                assert names(spelled) == expected
        if alias.endswith("@"):
            assert names(f"{alias}k", k=[2, 7]) == names(f"{name[:-1]}@k", k=[2, 7])


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ("RP@5 rp5", "rcap@5"),
        ("hit_rate@5 HitRate@5 hr@5 HR5", "hit@5"),
        ("exact_match ExactMatch exact-match", "subset_accuracy"),
        ("Another-Macro-F1 another_macro_f1 CF1", "f1.of_macros"),
        ("CF1@3 F1.of_macros@3", "f1.of_macros@3"),
        ("OF1", "f1.micro"),
        ("OF1@3", "f1.micro@3"),
        ("CP@3", "precision.macro@3"),
        ("AUROC.macro AUROC_macro macro-AUROC", "auc.macro"),
        ("AUROC.micro(max_fpr=0.1)", "auc.micro(max_fpr=0.1)"),
        ("AUPRC.micro micro_auprc", "ap.micro"),
    ],
)
def test_names_of_other_programs_are_read(texts: str, name: str) -> None:
    for text in texts.split():
        assert names(text) == [name]


def test_cf1_is_the_harmonic_mean_of_cp_and_cr() -> None:
    rng = np.random.default_rng(5)
    truth = rng.random((30, 6)) < 0.4
    pred = rng.random((30, 6)) < 0.5
    report = evaluate(truth, y_pred=pred, metrics=["CP", "CR", "CF1", "OP", "OR", "OF1"])
    # as the evaluation code of ML-GCN (Chen et al. 2019) computes them
    n_hits = (truth & pred).sum(axis=0)
    cp = np.mean(n_hits / pred.sum(axis=0))
    cr = np.mean(n_hits / truth.sum(axis=0))
    op = n_hits.sum() / pred.sum()
    recall = n_hits.sum() / truth.sum()
    expected = [cp, cr, 2 * cp * cr / (cp + cr), op, recall, 2 * op * recall / (op + recall)]
    assert [*report.values()] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a measure name: name[.average][(param=value)][@k]"),
        ("p@5@3", "'p@5@3' is not a measure name"),
        ("nothing", "unknown measure 'nothing'; `xmleval metrics` lists all"),
        ("f1", "'f1': needs an average; choose from f1.samples, f1.micro, f1.macro, f1.weighted"),
        ("mcc.samples", "'mcc.samples': no average 'samples'; choose from mcc.micro, mcc.macro, "),
        ("p.macro@5", "'p.macro@5': no average 'macro'; it takes none"),
        ("p@all", "'p@all': p takes no @all"),
        ("lrap@5", "'lrap@5': lrap takes no @k"),
        ("p@0", "'p@0': k=0 is not positive"),
        ("ndcg@-3", "'ndcg@-3': k=-3 is not positive"),
        ("f1.macro(beta=2)", "'f1.macro(beta=2)': f1.macro has no parameter 'beta'"),
        ("fbeta.macro", "'fbeta.macro': needs beta, as in fbeta.macro(beta=2)"),
        ("fbeta.macro(beta=two)", "'fbeta.macro(beta=two)': beta='two' is not a number"),
        ("fbeta.macro(beta=inf)", "'fbeta.macro(beta=inf)': beta=inf is not a non-negative number"),
        ("fbeta.macro(beta=2,beta=3)", "'fbeta.macro(beta=2,beta=3)': "),
        ("f1_marco", "unknown measure 'f1_marco'; did you mean f1.macro"),
        ("wu2016", "unknown measure 'wu2016'; did you mean wu2017"),
    ],
)
def test_parse_spec_refuses_names_with_a_suggestion(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        names(text)


MEAN_OF_CLASSES = "here it is map@k or map@all (means over rows), or ap.macro (mean over labels"


@pytest.mark.parametrize(
    "text", ["map", "mAP", "MAP", " Map ", "mean_average_precision", "RetrievalMAP"]
)
def test_parse_spec_refuses_map_without_cutoff(text: str) -> None:
    message = re.escape(f"{text!r}: {MEAN_OF_CLASSES}")
    one = np.eye(3)
    for refused in (
        lambda: names(text),
        lambda: names(["p@1", text], k=5),
        lambda: evaluate(one, one, metrics=[text]),
        lambda: compare(one, {"a": one, "b": one}, metrics=["p@1", text]),
        lambda: evaluate(one, one, metrics="map@5", per_row=[text]),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            refused()
    code, out, err = answer(["evaluate", "y.npy", "s.npy", "--metrics", f"p@1,{text}"])
    assert (code, out) == (2, "")
    assert MEAN_OF_CLASSES in err or "y.npy" in err


def test_map_with_a_cutoff_is_that_of_rows() -> None:
    assert names(["map@5", "mAP@5", "MAP@5", "map5"]) == ["map@5"]
    assert names("map@k", k=[2, 9]) == names(" mAP @ K ", k=[2, 9]) == ["map@2", "map@9"]
    assert names(["map_cut_5", "map_cut.5", "map_cut@5"]) == ["map_r@5"]
    assert names("map@all") == ["map@all"]


CAPPED = "map@2 divides by min(k, R), but trec_eval's map_cut_2 by R"


@pytest.mark.parametrize(
    ("metrics", "conventions", "is_noted"),
    [
        (["map@2", "P_2"], None, True),
        (["ndcg_cut_2", "map@k"], None, True),
        (iter(["recip_rank", "map@2"]), None, True),
        (["map@2", "p@2"], None, False),
        (["map@all", "P_2"], None, False),
        (["map_r@2", "P_2"], None, False),
        (["map@2", "P_2"], "map_norm=relevant", False),
    ],
)
def test_map_beside_names_of_trec_eval_is_noted(
    metrics: list[str], conventions: str | None, is_noted: bool
) -> None:
    truth = {"q1": {"a": 1, "b": 1, "c": 1}}
    run = {"q1": {"a": 0.9, "b": 0.8, "d": 0.1}}
    report = evaluate(truth, run, metrics=metrics, k=2, conventions=conventions)
    assert any(note.startswith(CAPPED) for note in report.notes) == is_noted
    assert evaluate(truth, run, metrics="map@2")["map@2"] == 1.0
    assert evaluate(truth, run, metrics="map_cut_2")["map_r@2"] == pytest.approx(2 / 3)


OTHERS = [
    ("hit-ratio@3 hit_rate_at_3 RetrievalHitRate@3", "hit@3"),
    ("hit_ratio top_k_accuracy", "hit@k"),
    ("R-Precision@3 rprec@3 r_precision@3", "rcap@3: hits / min(k, R)"),
    ("EMR MultilabelExactMatch exact_match_ratio", "subset_accuracy"),
    ("zero_one_loss ZeroOneLoss", "1 - subset_accuracy"),
    ("hamming_score", "accuracy.micro, which is 1 - hamming_loss"),
    ("macro-AUPR pr_auc.macro AUC-PR.macro MultilabelAUPRC.macro", "ap.macro"),
    ("MultilabelAveragePrecision.macro", "ap.macro"),
    ("AUPRC AUPR PR-AUC average_precision_score", "ap.micro, ap.macro or ap.weighted"),
    ("MultilabelAUROC.micro", "auc.micro"),
    ("AUROC ROC-AUC roc_auc", "auc.micro, auc.macro, auc.weighted or auc.samples"),
    ("coverage@3 coverage_at_3", "label_coverage@3 of labels with a hit or pred_coverage@3 of "),
    ("mean_reciprocal_rank@3 ReciprocalRank@3 mrr_at_3", "mrr@3"),
    ("recall_at_3 RetrievalRecall@3", "r@3"),
    ("precision_at_3", "p@3"),
    ("ndcg_at_3", "ndcg@3"),
    ("recall_at_k", "r@k"),
    ("AP@3", "map_r@3, divided by R, or map@3"),
    ("macro_map map.macro mAP_macro cmAP", "ap.macro"),
    ("gap", "ap.micro"),
    ("f1_score.macro f1_score_macro", "f1.macro"),
    ("jaccard_score.micro", "jaccard.micro"),
    (
        "accuracy accuracy_score",
        "subset_accuracy of whole sets (scikit-learn's accuracy_score), or",
    ),
    ("matthews_corrcoef", "mcc.micro, mcc.macro or mcc.weighted"),
    ("neg_log_loss", "log_loss"),
    ("ndcg_burges@3", 'ndcg@3 with conventions="gains=exp"'),
    ("GiniIndex@3", "gini@3"),
    ("ItemCoverage@3", "pred_coverage@3"),
]


@pytest.mark.parametrize(("texts", "meant"), OTHERS)
def test_parse_spec_refuses_names_of_other_programs_with_a_suggestion(
    texts: str, meant: str
) -> None:
    for text in texts.split():
        with pytest.raises(ValueError, match=f"^{re.escape(f'{text!r}: here it is {meant}')}"):
            names(text)


def test_suggestions_for_names_of_other_programs_are_computed() -> None:
    words = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z]+)?(?:\(\w+=[\d.]+\))?(?:@\w+)?")
    for name in MEANT:
        meant = meaning(name.replace("@", "@7")).split(":")[0].replace("@k", "@3")
        measured = [word for word in words.findall(meant) if re.search(r"[.@_]", word)]
        for word in measured or meant.split():
            if word != "accuracy_score":  # of scikit-learn
                assert names(word), name


def test_report_without_a_name_of_another_program_suggests_a_measure() -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics=["ap.macro", "hit@1"])
    with pytest.raises(KeyError, match=r"'pr_auc.macro' is not in this report; here it is ap.macr"):
        report["pr_auc.macro"]


def test_names_parse_back_and_symbols_differ() -> None:
    specs = {*SPECS.values(), *map(parsed, ("fbeta.micro(beta=0.5)", "fbeta.micro(beta=3)"))}
    assert len({spec.symbol for spec in specs}) == len(specs)
    for spec in specs:
        assert parsed(spec.name) == parsed(spec.name.upper()) == spec
        assert "{" not in spec.symbol
        assert spec.symbol.endswith(f"@{spec.k}") == (spec.k is not None)
        if spec.average and not (spec.params or spec.level):
            name = spec.metric.name
            average = spec.average
            at_k = f"@{spec.k}" if spec.k else ""
            for text in (f"{name}_{average}", f"{average}_{name}", f"{average}-{name}"):
                assert parsed(f"{text}{at_k}") == spec
    assert [
        parsed(name).symbol for name in ("fbeta.micro(beta=0.5)@3", "ndcg@all", "psndcg@3")
    ] == [
        "F0.5 micro@3",
        "nDCG@all",
        "PSnDCG@3",
    ]


@given(
    st.floats(0, 1e149, allow_nan=False), st.sampled_from(["micro", "macro", "samples", "of_means"])
)
def test_parameters_keep_every_bit(beta: float, average: str) -> None:
    spec = parsed(f"fbeta.{average}(beta={beta!r})")
    assert dict(spec.params) == {"beta": beta}
    assert parsed(spec.name) == spec


@given(st.text(alphabet="pf1.@()=,-_ 0aβbeta²٣\n\x00", max_size=12))
def test_any_text_parses_or_is_a_value_error(text: str) -> None:
    try:
        asked = names(text)
    except ValueError:
        return
    assert names(asked) == asked


XMC = [f"{name}@{k}" for name in ("p", "ndcg", "psp", "psndcg", "r") for k in (1, 3, 5)]


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (None, XMC),
        ("xmc", XMC),
        ([" XMC "], XMC),
        ("p@2", ["p@2"]),
        (["p"], ["p@1", "p@3", "p@5"]),
        (["P", "nDCG"], ["p@1", "p@3", "p@5", "ndcg@1", "ndcg@3", "ndcg@5"]),
        (["ndcg@all", "mrr"], ["ndcg@all", "mrr@1", "mrr@3", "mrr@5"]),
        (("lrap", "p@2", "lrap", "P@2"), ["lrap", "p@2"]),
        (["precision@2", "p@2"], ["p@2"]),
        ("psndcg_repo", ["psdcg@1", "psdcg@3", "psdcg@5"]),
        ("f1.macro", ["f1.macro"]),
        (["r@9", "xmc"], ["r@9", *XMC]),
        (iter(["p@2"]), ["p@2"]),
        (
            "wu2017",
            [
                "hamming_loss",
                "ranking_loss",
                "one_error",
                "coverage",
                "lrap",
                "f1.macro",
                "f1.micro",
                "f1.samples",
                "auc.macro",
                "auc.micro",
                "auc.samples",
            ],
        ),
        (
            "curves",
            [
                "auc.micro",
                "auc.macro",
                "auc.weighted",
                "ap.micro",
                "ap.macro",
                "ap.weighted",
                "ap.geometric",
                "peak_f1.micro",
                "peak_f1.macro",
                "auc.samples",
                "lrap",
                "peak_f1.samples",
            ],
        ),
    ],
)
def test_names_and_groups_expand_in_order_without_repeats(
    metrics: Any, expected: list[str]
) -> None:
    assert names(metrics) == expected


def test_cutoffs_of_names_without_one() -> None:
    forms: list[Any] = [
        7,
        [7],
        (7,),
        np.array([7]),
        np.int64(7),
        [np.int32(7)],
        [7, 7],
        {7},
        iter([7]),
    ]
    for ks in forms:
        assert names(["p", "p@2", "f1.macro"], k=ks) == ["p@7", "p@2", "f1.macro"]
    for name in ("p", "P@k", "p@K", "precision@k"):
        assert names(name, k=(2, 7)) == ["p@2", "p@7"]
    assert names("macro_f1@k", k=(2, 7)) == ["f1.macro@2", "f1.macro@7"]


def test_expand_metrics_of_groups_follows_their_names() -> None:
    assert {*GROUPS} == {
        "xmc",
        "wu2017",
        "sets",
        "ranking",
        "curves",
        "ps",
        "predicted",
        "calibration",
        "hierarchy",
        "statistics",
    }
    everything = {spec.metric for spec in Evaluator("all").requested}
    general = {spec.metric for spec in SPECS.values() if not spec.metric.params}
    assert everything == {metric for metric in general if "probabilities" not in metric.needs}
    for group, family in (("sets", "sets"), ("ps", "propensity"), ("hierarchy", "hierarchy")):
        assert {spec.metric.family for spec in Evaluator(group).requested} == {family}


@pytest.mark.parametrize(
    ("metrics", "ks", "message"),
    [
        ([], [1], "metrics and k must not be empty"),
        ("xmc", [], "metrics and k must not be empty"),
        ("xmc", [0], "k: 0 is not a positive integer"),
        ("xmc", [True], "k: True is not a positive"),
        ("xmc", None, "k: None is not a positive"),
        ([5], [1], "metrics: 5 is neither a name nor a measure"),
        (b"p@5", [1], "metrics"),
        (5, [1], "metrics: 5 is neither a name nor a list"),
        (["xmc", "pp"], [1], "unknown measure 'pp'"),
        (["p@1,pp"], [1], "unknown measure 'pp'"),
        ("xmc@5", [1], "'xmc@5': unknown measure"),
    ],
)
def test_expand_metrics_refuses_wrong_lists(metrics: Any, ks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        names(metrics, k=ks)


PRESETS = """
              default  sklearn             wu2017
auc_ties      half     half                full
loss_ties     full     full                full
ties          order    expected_dcg        order
empty         zero     zero                zero
ap_empty      skip     zero                skip
no_pairs      skip     perfect_except_auc  skip
zero_division 0        0                   0
labels        all      all                 all
unlisted      below    0                   below
map_norm      capped   capped              capped
gains         binary   binary              binary
relevant_from 1        1                   1
link          none     none                none
"""


ONE_OF_PRESETS = " is not one of default, sklearn, wu2017, mulan, meka, beir, pyxclib, napkinxc"
FIELDS = ", ".join(Conventions.__annotations__)


@pytest.mark.parametrize(
    ("conventions", "message"),
    [
        ("sklern", f"conventions='sklern'{ONE_OF_PRESETS}; did you mean sklearn?"),
        ("zzzz", f"conventions='zzzz'{ONE_OF_PRESETS}"),
        ("", f"conventions=''{ONE_OF_PRESETS}"),
        (3, "conventions must be a preset name, Conventions or a dict, not 3"),
        ({"labels": "x"}, "conventions: labels='x' is not one of all, present, seen"),
        (
            "lables=all",
            f"conventions: unknown field 'lables'; fields are {FIELDS}; did you mean labels?",
        ),
        ({"zzzz": 1}, f"conventions: unknown field 'zzzz'; fields are {FIELDS}"),
        (
            "labels=present,sklearn",
            "conventions: 'sklearn' is not FIELD=VALUE, such as labels=present; give one preset at "
            "most, first",
        ),
        (
            "sklearn,beir",
            "conventions: 'beir' is not FIELD=VALUE, such as labels=present; give one preset at "
            "most, first",
        ),
        (
            "sklearn,",
            "conventions: '' is not FIELD=VALUE, such as labels=present; give one preset at most, "
            "first",
        ),
        (
            "labels=present, empty=skip,labels=all",
            "conventions: labels is given twice, as present and as all",
        ),
    ],
)
def test_conventions_are_refused_by_preset_or_field(conventions: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        evaluate(np.eye(2), np.eye(2), metrics="p@1", conventions=conventions)


def test_presets_have_the_conventions_of_the_table() -> None:
    presets, *rows = [line.split() for line in PRESETS.strip().splitlines()]
    for place, preset in enumerate(presets, 1):
        conventions = evaluate(np.eye(2), np.eye(2), conventions=preset).to_dict()["conventions"]
        expected = {row[0]: row[place] for row in rows}
        assert {name: str(value) for name, value in conventions.items()} == expected


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("TOP12", "top12"),
        (" threshold0.50 ", "threshold0.5"),
        ("threshold1e-3", "threshold0.001"),
        ("threshold-inf", "threshold-inf"),
    ],
)
def test_decision_prints_back(rule: str, name: str) -> None:
    assert Evaluator("f1.micro", decision=rule).settings["decision"] == name


@pytest.mark.parametrize("rule", ["", "top", "top0", "top1.5", "threshold", "thresholdnan", "3", 3])
def test_decision_is_refused_with_a_suggestion(rule: Any) -> None:
    message = f"decision={rule!r} is neither topK (top3) nor thresholdT"
    with pytest.raises(ValueError, match=re.escape(message)):
        Evaluator("f1.micro", decision=rule)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_threshold_is_strict_in_the_type_of_the_scores(dtype: str) -> None:
    scores = np.array([[0.1, 0.7, 0.3]], dtype)
    for threshold in (0.1, 0.3, 0.7):
        options: dict[str, Any] = {
            "decision": f"threshold{threshold}",
            "metrics": ["subset_accuracy"],
        }
        report = evaluate((scores > threshold).astype(int), scores, **options)
        assert report["subset_accuracy"] == 1.0


def test_report_lacks_every_measure_that_was_not_computed() -> None:
    report = evaluate(np.eye(3), np.eye(3), metrics="p@1")
    for metric in TABLE:
        for average in metric.averages or ("",):
            for cutoff in ("", "@2"):
                stem = f"{metric.name}.{average}" if average else metric.name
                assert f"{stem}{cutoff}" not in report
