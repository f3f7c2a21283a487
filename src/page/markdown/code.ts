/** A block of code: its language, a copy button, and colours as soon as the code is complete. */

import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import { configure, createCopy, element, shorten } from '../parts/element.ts';

/** Code that has more characters is not coloured. */
const longestHighlighted = 20_000;

/** Makes a block for code. The lines are added to the element `code`. */
export function createCode(info: string): { readonly root: HTMLElement; readonly code: HTMLElement } {
	const [language = ''] = info.split(/\s/);
	const code = element('code');
	code.dataset.language = language;
	const head = element(
		'div',
		'code-head',
		createCopy('code', () => code.textContent),
	);
	head.dataset.label = shorten(language, 40);
	// Focusable, so that a person can scroll it with the keyboard.
	const pre = configure(element('pre', 'code', code), { tabIndex: 0 });
	return { root: element('div', 'code-block', head, pre), code };
}

/** Splits code into parts of whole lines. Finished parts stay the same when more lines arrive. */
export function splitCode(text: string): readonly string[] {
	return text.match(/[\s\S]{1,2000}[^\n]*\n?/g) ?? [];
}

/** Colours the code in these nodes as soon as the browser is idle. */
export function colourCode(nodes: readonly ChildNode[]): void {
	for (const node of nodes.filter((child) => child instanceof Element))
		for (const code of node.querySelectorAll<HTMLElement>('code[data-language]')) whenIdle(() => colour(code));
}

function colour(code: HTMLElement): void {
	const { textContent: text, dataset } = code;
	if (!code.isConnected || text.length > longestHighlighted) return;
	const nodes = highlight(text, dataset.language ?? '');
	if (nodes !== undefined) code.replaceChildren(...nodes);
}

function whenIdle(work: () => void): void {
	if ('requestIdleCallback' in globalThis) requestIdleCallback(work, { timeout: 2_000 });
	else setTimeout(work, 100);
}

const languages = { bash, c, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
const lowlight = createLowlight(languages);

type Root = ReturnType<typeof lowlight.highlight>;

/** Splits code into nodes with classes for colours. Returns undefined for an unknown language. */
function highlight(text: string, language: string): ChildNode[] | undefined {
	const name = language.toLowerCase();
	return lowlight.registered(name) ? lowlight.highlight(name, text).children.flatMap(toNode) : undefined;
}

function toNode(node: Root['children'][number]): ChildNode[] {
	if (node.type === 'text') return [new Text(node.value)];
	if (node.type !== 'element') return [];
	const { className } = node.properties;
	const classes = Array.isArray(className) ? className.join(' ') : '';
	return [element('span', classes, ...node.children.flatMap(toNode))];
}
