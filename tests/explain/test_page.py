"""The page in a real browser: no errors, boxes can be clicked and reached by keyboard, weights change results."""

from __future__ import annotations

import shutil

import pytest
from explain.programs import random_program, transformer_loss

import pullback

webdriver = pytest.importorskip("selenium.webdriver")
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("needs Debian's chromium and chromedriver", allow_module_level=True)

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1300,1000",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=webdriver.ChromeService(shutil.which("chromedriver")), options=options)
    yield driver
    driver.quit()


@pytest.fixture
def open_page(browser, tmp_path):
    def opened(explanation):
        explanation.to_html(tmp_path / "page.html")
        browser.get(f"file://{tmp_path}/page.html")
        return browser

    yield opened
    assert browser.get_log("browser") == []  # no errors, no warnings, no refused requests


def one(browser, selector):
    return browser.find_element("css selector", selector)


def every(browser, selector):
    return browser.find_elements("css selector", selector)


def set_value(browser, element, value):
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))",
        element,
        str(value),
    )


def founding():
    x = pullback.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    return y.explain(pullback.tensor([1.0, 0.5]))


def test_the_founding_example(open_page):
    browser = open_page(founding())
    assert one(browser, "#total").text == "[4, 3]"
    set_value(browser, one(browser, '[data-weight="1"]'), 1)
    assert one(browser, "#total").text == "[4, 6]"
    assert one(browser, '[data-contribution="1"]').text == "[0, 6]"
    set_value(browser, one(browser, '[data-slider="0"]'), -2)
    assert one(browser, "#total").text == "[−8, 6]" and one(browser, '[data-weight="0"]').get_attribute("value") == "-2"
    assert one(browser, '[data-result="leaf1"]').text == "[−8, 6]"
    one(browser, "#reset").click()
    assert one(browser, "#total").text == "[4, 3]"
    one(browser, "#ones").click()
    assert one(browser, "#total").text == "[4, 6]"
    weight = one(browser, '[data-weight="0"]')
    weight.clear()
    weight.send_keys("0.25")  # typed as a person would
    assert one(browser, "#total").text == "[1, 6]"


@pytest.mark.parametrize("seed", [1, 4, 7, 11])
def test_new_weights_give_what_backward_gives(open_page, seed):
    leaves, loss, weights = random_program(seed)
    browser = open_page(pullback.explain(loss, weights, inputs=leaves))
    new = [0.5 * i - 1 for i in range(loss.numel())]
    for element, value in zip(every(browser, "[data-weight]"), new, strict=True):
        set_value(browser, element, value)
    loss.backward(pullback.tensor(new, dtype=loss.dtype).reshape(loss.shape))
    for cell in every(browser, "[data-result]"):
        name = cell.find_element("xpath", "../td[1]").text.rstrip(" ⚠")
        shown = [float(part) for part in cell.text.replace("−", "-").replace("[", "").replace("]", "").split(",")]
        assert shown == pytest.approx(leaves[name].grad.reshape(-1).tolist(), rel=1e-4, abs=1e-6)


def test_boxes_are_clickable_and_reachable_by_keyboard(open_page):
    browser = open_page(founding())
    one(browser, '.pb-node[data-key="op1"]').click()
    details = one(browser, "#details").text
    assert "MulBackward0" in details and "g * (x + x)" in details and "[1, 0.5]" in details
    assert every(browser, '.pb-node[data-key="op1"].selected')
    browser.execute_script("document.querySelector('.pb-node[data-key=leaf1]').focus()")
    keys = __import__("selenium.webdriver.common.keys", fromlist=["Keys"]).Keys
    browser.switch_to.active_element.send_keys(keys.ENTER)
    assert one(browser, "#details h3").text == "x"
    before = one(browser, ".picture").get_attribute("style")
    one(browser, "#stage").send_keys(keys.ARROW_LEFT)
    assert one(browser, ".picture").get_attribute("style") != before
    one(browser, "tr[data-item=op1]").click()
    assert "1 mul" in one(browser, "#details h3").text


def test_dragging_moves_the_picture(open_page):
    browser = open_page(founding())
    before = one(browser, ".picture").get_attribute("style")
    chains = __import__("selenium.webdriver.common.action_chains", fromlist=["ActionChains"]).ActionChains(browser)
    chains.move_to_element_with_offset(one(browser, "#stage"), -200, 100).click_and_hold().move_by_offset(
        60, 40
    ).release().perform()
    assert one(browser, ".picture").get_attribute("style") != before


def test_large_graphs_open_group_by_group(open_page):
    model, loss = transformer_loss(10)
    browser = open_page(loss.explain(pullback.ones(6), model=model))
    groups = every(browser, ".picture:not([hidden]) .pb-group")
    assert groups
    title = groups[0].find_element("css selector", "title").get_attribute("textContent")
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", groups[0])
    shown = one(browser, ".picture:not([hidden])").get_attribute("data-view")
    assert shown != "overview" and title
    one(browser, "#back").click()
    assert one(browser, ".picture:not([hidden])").get_attribute("data-view") == "overview"
    field = one(browser, "#search")
    field.send_keys("embedding\n")  # found inside whatever group holds it
    assert "found" in one(browser, "#found").text and "embedding" in one(browser, "#details h3").text
    assert len([row for row in every(browser, "#operations-body tr") if row.is_displayed()]) == 1
    # a leaf too large for its rows: the norm follows the weights
    leaf = next(name for name, parameter in model.named_parameters() if parameter.numel() > 100)
    for element in every(browser, "[data-weight]"):
        set_value(browser, element, 2)
    loss.backward(pullback.full((6,), 2.0))
    field.clear()
    field.send_keys(" ")
    for row in every(browser, "#leaves-body tr"):
        if row.find_element("css selector", "td").text == leaf:
            norm = float(row.find_elements("css selector", "td")[-1].text.removeprefix("norm "))
            assert norm == pytest.approx(float(dict(model.named_parameters())[leaf].grad.norm()), rel=1e-3)
            break
    else:
        raise AssertionError("the leaf is not in the table")


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"'`${alert(1)}"]
)
def test_hostile_names_do_nothing(open_page, name):
    x = pullback.ones(2, requires_grad=True)
    x.name = name
    browser = open_page((x * x).explain(pullback.ones(2), title=name))
    one(browser, "tr[data-item=leaf1]").click()
    assert one(browser, "#details h3").text == name and one(browser, "h1").text == name
    assert browser.execute_script("return document.querySelectorAll('img, script').length") == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_both_schemes(open_page, browser, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    try:
        open_page(founding())
        ratios = browser.execute_script(
            """
            const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
            const light = (text) => {
              const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
              return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
            };
            const ratio = (a, b) => {
              const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
              return (x + 0.05) / (y + 0.05);
            };
            const page = getComputedStyle(document.body).backgroundColor;
            const found = {};
            for (const node of document.querySelectorAll('.pb-node')) {
              const fill = getComputedStyle(node.querySelector('.pb-box')).fill;
              for (const text of node.querySelectorAll('text')) {
                const name = node.getAttribute('class') + text.getAttribute('class');
                found[name] = ratio(getComputedStyle(text).fill, fill);
              }
            }
            for (const selector of ['h1', '.soft', 'th', 'td', '.rule', 'button', 'footer']) {
              const element = document.querySelector(selector);
              found[selector] = ratio(getComputedStyle(element).color, page);
            }
            return found;
            """
        )
        assert min(ratios.values()) >= 4.5, ratios
        assert (
            browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        ) == (scheme == "light")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
