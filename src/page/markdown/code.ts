/** A block of code: its language, a copy button, and colours as soon as the code is complete. */

import type { CodeNode } from '../../client/highlight.ts';
import { say } from '../../client/say.ts';
import { button, configure, createCopy, element, shorten } from '../parts/element.ts';

/** Makes a block for code. The lines are added to the element `code`. */
export function createCode(info: string): { readonly root: HTMLElement; readonly code: HTMLElement } {
	const [language = ''] = info.split(/\s/);
	const code = element('code');
	code.dataset.language = language;
	const read = () => code.textContent;
	const draw = language === 'mermaid' ? createDiagramOpener(read) : undefined;
	const head = element('div', 'code-head', draw, createCopy(say('Copy code'), read));
	head.dataset.label = shorten(language, 40);
	// Focusable, so that a person can scroll it with the keyboard.
	const pre = configure(element('pre', 'code', code), { tabIndex: 0 });
	return { root: element('div', 'code-block', head, pre), code };
}

/**
 * Makes a button that opens a diagram on mermaid.live, which draws it. The diagram stands in the address after `#`, so the
 * browser sends it to no server.
 */
function createDiagramOpener(read: () => string): HTMLButtonElement {
	return button('open-diagram', say('Open in mermaid.live'), () => {
		const bytes = new TextEncoder().encode(JSON.stringify({ code: read(), mermaid: { theme: 'default' } }));
		const encoded = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
		window.open(`https://mermaid.live/edit#base64:${encoded}`, '_blank', 'noopener,noreferrer');
	});
}

/** Splits code into parts of whole lines. Finished parts stay the same when more lines arrive. */
export function splitCode(text: string): readonly string[] {
	return text.match(/[\s\S]{1,2000}[^\n]*\n?/g) ?? [];
}

/** Colours the code in these nodes as soon as the browser is idle. */
export function colourCode(nodes: readonly ChildNode[]): void {
	for (const node of nodes.filter((child) => child instanceof Element))
		for (const code of node.querySelectorAll<HTMLElement>('code[data-language]')) whenIdle(() => void colour(code));
}

async function colour(code: HTMLElement): Promise<void> {
	const { textContent: text, dataset } = code;
	if (!code.isConnected || !dataset.language) return;
	// A file of its own (scripts/page.ts). Without its colours, code can be read too.
	const module = await import('./highlight.ts').catch(() => undefined);
	const nodes = module?.highlight(text, dataset.language)?.flatMap(toNode);
	if (nodes !== undefined && code.textContent === text) code.replaceChildren(...nodes);
}

function whenIdle(work: () => void): void {
	if ('requestIdleCallback' in globalThis) requestIdleCallback(work, { timeout: 2_000 });
	else setTimeout(work, 100);
}

function toNode({ text, classes, children }: CodeNode): ChildNode[] {
	return [text === undefined ? element('span', classes.join(' '), ...children.flatMap(toNode)) : new Text(text)];
}
