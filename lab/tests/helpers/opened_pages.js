// What tests see of a page in the browser, with all its folds open. A check returns what is not as it shall be.

function look() {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const checks = [tooWide, withoutKeys, outOfSight, withoutBorder, covered, illegible];
  const faults = Object.fromEntries(checks.map((check) => [check.name, check()]));
  return { words: words(), drawings: drawings(), faults };
}

// The words of the page, without those of the controls that its script makes.
function words() {
  const controls = [...document.querySelectorAll(".tools")];
  for (const each of controls) each.style.display = "none";
  const found = document.body.innerText.split(/\s+/);
  for (const each of controls) each.style.display = "";
  return found;
}

function isSeen(element) {
  return element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
}

function named(element) {
  const classes = element.getAttribute("class");
  const said = element.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
  return `${element.tagName.toLowerCase()}${classes ? "." + classes.split(" ").join(".") : ""} "${said}"`;
}

function scrolling() {
  return [...document.body.querySelectorAll("*")].filter((each) => {
    const how = getComputedStyle(each).overflowX;
    return (how === "auto" || how === "scroll") && each.scrollWidth > each.clientWidth + 1;
  });
}

// Elements that reach beyond the right side of the screen, where the page is wider than it.
function tooWide() {
  const root = document.documentElement;
  if (root.scrollWidth <= window.innerWidth) return [];
  const beyond = [...document.body.querySelectorAll("*")].filter(
    (each) => each.getBoundingClientRect().right > window.innerWidth + 1 && !each.closest(".scroll *, pre *"),
  );
  return [`${root.scrollWidth} wide`, ...beyond.slice(0, 3).map(named)];
}

// What scrolls sideways, and no key scrolls it, or nothing says what it is.
function withoutKeys() {
  const faults = [];
  for (const each of scrolling()) {
    each.focus();
    const isFocused = document.activeElement === each && each.hasAttribute("tabindex");
    if (!isFocused) faults.push(`no key reaches ${named(each)}`);
    else if (!each.getAttribute("role") || !each.getAttribute("aria-label")) faults.push(`no name: ${named(each)}`);
  }
  return faults;
}

// Tables of which a part has to be scrolled to.
function outOfSight() {
  return scrolling().filter((each) => each.querySelector("table")).map(named);
}

// Badges and swatches that nothing surrounds: where colours are forced, their background is gone.
function withoutBorder() {
  const shown = [...document.querySelectorAll(".badge, .swatch")].filter(isSeen);
  return shown
    .filter((each) => {
      const style = getComputedStyle(each);
      return style.borderTopStyle === "none" || parseFloat(style.borderTopWidth) < 1;
    })
    .map(named);
}

// How many drawings each chart of the page shows.
function drawings() {
  const charts = [...document.querySelectorAll("figure.chart")];
  return charts.map((each) => [...each.querySelectorAll("svg[role=img]")].filter(isSeen).length);
}

// Words of one chart that cover each other by more than this many pixels both ways.
const COVERED_PX = 1.5;

function covered() {
  const faults = [];
  for (const chart of document.querySelectorAll("figure.chart")) {
    const texts = [...chart.querySelectorAll("svg text")].filter((each) => isSeen(each) && each.textContent.trim());
    const boxes = texts.map((each) => each.getBoundingClientRect());
    for (let one = 0; one < texts.length; one++) {
      for (let other = one + 1; other < texts.length; other++) {
        const a = boxes[one], b = boxes[other];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // A box has room above and below its letters.
        if (across > COVERED_PX && down > COVERED_PX + a.height / 4) faults.push(`${named(texts[one])} ${named(texts[other])}`);
      }
    }
  }
  return faults;
}

const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

function luminance(colour) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((each) => {
    const share = each / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function paper() {
  const colour = getComputedStyle(document.body).backgroundColor;
  if (colour !== "rgba(0, 0, 0, 0)") return colour;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#ffffff";
}

// Texts in charts that do not stand out from what is drawn below them, as WCAG 2.2 asks (1.4.3). Of two colours
// the one that is drawn last counts, so a mark that hides a text counts as its background.
function illegible() {
  const faults = [];
  for (const text of [...document.querySelectorAll("svg text")].filter(isSeen)) {
    const chart = text.closest("figure") ?? text.ownerSVGElement;
    if (!text.textContent.trim()) continue;
    let box = text.getBoundingClientRect();
    if (box.top < 0 || box.bottom > window.innerHeight) {
      window.scrollTo(0, window.scrollY + box.top - window.innerHeight / 2);
      box = text.getBoundingClientRect();
    }
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    const colour = getComputedStyle(text).fill;
    const below = [...chart.querySelectorAll("rect, path, circle, polygon, ellipse, use")].filter((each) => {
      const at = each.getBoundingClientRect();
      if (x < at.left || x > at.right || y < at.top || y > at.bottom || !isSeen(each)) return false;
      const style = getComputedStyle(each);
      if (style.fill === "none" || style.fillOpacity < 0.5 || style.opacity < 0.5) return false;
      const point = new DOMPoint(x, y).matrixTransform(each.getScreenCTM().inverse());
      return each.isPointInFill(point);
    });
    const hides = below.find((each) => text.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    const style = getComputedStyle(text);
    // A line around the letters is what they are read against.
    const isRimmed = style.paintOrder.startsWith("stroke") && style.stroke !== "none";
    const background = isRimmed ? style.stroke : below.length ? getComputedStyle(below[below.length - 1]).fill : paper();
    if (hides) faults.push(`hidden: ${named(text)}`);
    else if (contrast(colour, background) < 4.5)
      faults.push(`${contrast(colour, background).toFixed(2)}: ${named(text)} ${colour} on ${background}`);
  }
  return faults;
}
