// What axe-core finds in a page: without "seen" by all rules but those of colours; with it by those of colours,
// in words whose style is not among those that were seen. Answers with the findings and the styles that are new.
async seen => {
    const colours = ["color-contrast", "link-in-text-block"], grounds = new Map();
    const ground = one => {
        if (!one) return "";
        if (!grounds.has(one)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(one);
            const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
            const below = ground(one.parentElement);
            grounds.set(one, own === "rgba(0, 0, 0, 0) none 1" ? below : `${below} ${own}`);
        }
        return grounds.get(one);
    };
    const style = one => {
        const { color, fontSize, fontWeight, textDecorationLine } = getComputedStyle(one);
        return [color, fontSize, fontWeight, textDecorationLine, ground(one)].join("|");
    };
    const hasWords = one => one.placeholder || one.value
        || Array.from(one.childNodes).some(node => node.nodeType === 3 && node.data.trim());
    const options = { resultTypes: ["violations"], preload: false }, fresh = new Map();
    let where = document;
    if (seen) {
        const known = new Set(seen);
        for (const one of document.querySelectorAll("body *")) {
            if (!hasWords(one) || !one.checkVisibility()) continue;
            const key = style(one) + (one.tagName === "A" ? ` in ${one.parentElement.tagName} ${style(one.parentElement)}` : "");
            if (!known.has(key) && !fresh.has(key)) fresh.set(key, one);
        }
        if (!fresh.size) return [[], []];
        where = { include: Array.from(fresh.values()) };
        options.runOnly = colours;
    } else options.rules = Object.fromEntries(colours.map(rule => [rule, { enabled: false }]));
    const { violations } = await axe.run(where, options);
    const told = violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 160)}`));
    return [told, Array.from(fresh.keys())];
}
