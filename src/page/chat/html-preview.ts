/**
 * Shows HTML of a file in a frame that runs no script, sends no form, follows no link and loads nothing but `data:` images.
 *
 * The frame is a sandbox without `allow-scripts`, with a policy of its own. The policy of the page forbids inline styles,
 * so the page makes style sheets of them in the frame; `allow-same-origin` lets it do that.
 */

import { say } from '../../client/say.ts';
import { configure, element } from '../parts/element.ts';

const policy = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'";
/** What could load or lead somewhere. The sandbox and the policy forbid it, too. */
const removed = 'script, link, meta, base, iframe, frame, object, embed, applet, portal, template';
const loading = ['src', 'srcset', 'href', 'xlink:href', 'poster', 'data', 'action', 'formaction', 'background', 'ping'];

/** Returns the style sheets that HTML names by relative addresses: other files of the workspace. */
export function listSheets(html: string): readonly string[] {
	const links = new DOMParser().parseFromString(html, 'text/html').querySelectorAll('link[rel~="stylesheet"]');
	const addresses = [...links].map((node) => node.getAttribute('href') ?? '');
	return addresses.filter((address) => /^[\w./-]+$/.test(address) && !address.startsWith('/'));
}

/** `linked`: the texts of the style sheets that the HTML names. */
export function createHtmlPreview(html: string, linked: readonly string[]): HTMLIFrameElement {
	const given = new DOMParser().parseFromString(html, 'text/html');
	const sheets = [...linked, ...[...given.querySelectorAll('style')].map(({ textContent }) => textContent)];
	for (const node of given.querySelectorAll(`${removed}, style`)) node.remove();
	const styles = new Map<Element, string>();
	for (const node of given.querySelectorAll('*')) takeAttributes(node, styles);
	const frame = configure(element('iframe', 'html-preview'), { title: say('Preview') });
	frame.setAttribute('sandbox', 'allow-same-origin');
	frame.addEventListener('load', () => {
		const { contentDocument: inner, contentWindow: window } = frame;
		if (inner === null || window === null) return;
		inner.documentElement.replaceWith(given.documentElement);
		for (const [node, style] of styles) if ('style' in node) Object.assign(node, { style });
		inner.adoptedStyleSheets = sheets.map((text) => createSheet(window, text));
	});
	frame.srcdoc = `<!doctype html><meta http-equiv="Content-Security-Policy" content="${policy}">`;
	return frame;
}

/** Removes the attributes that load something, run something or are a style. Keeps the styles in `styles`. */
function takeAttributes(node: Element, styles: Map<Element, string>): void {
	const style = node.getAttribute('style');
	if (style !== null) styles.set(node, style);
	for (const name of node.getAttributeNames()) {
		const isPicture = name === 'src' && /^data:image\//i.test(node.getAttribute(name) ?? '');
		if (name === 'style' || name.startsWith('on') || (loading.includes(name) && !isPicture)) node.removeAttribute(name);
	}
}

/** A sheet belongs to the window that made it. */
function createSheet(window: Window, text: string): CSSStyleSheet {
	const sheet: CSSStyleSheet = new (Reflect.get(window, 'CSSStyleSheet'))();
	sheet.replaceSync(text);
	return sheet;
}
