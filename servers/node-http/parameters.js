// What the contract says a request's parameters may be: text as it came in, the value it means out.

export class BadParameter extends Error {}

export const delayMs = wholeNumber("delay_ms", 0, 60_000, 0);
export const rounds = wholeNumber("n", 1, 100_000, 1);
export const below = wholeNumber("below", 0, 10_000_000, 1_000_000);
export const waitMs = wholeNumber("wait_ms", 0, 60_000, 0);
export const spinUs = wholeNumber("spin_us", 0, 10_000_000, 0);
export const bytes = wholeNumber("bytes", 0, 10_000_000, 13);

export function fill(text) {
  if (text && text !== "each" && text !== "bulk") {
    throw new BadParameter("fill must be each or bulk");
  }
  return text || "each";
}

function wholeNumber(name, least, most, otherwise) {
  return (text) => {
    if (!text) {
      return otherwise;
    }
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (!(value >= least && value <= most)) {
      throw new BadParameter(
        `${name} must be a whole number from ${least} to ${most}`,
      );
    }
    return value;
  };
}
