/** Splits code into its parts, such as keywords and strings, for the page and the terminal. */

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

/** Code that has more characters is not split. */
const longestHighlighted = 20_000;

/** A piece of code: a text, or parts with the classes of highlight.js, such as `hljs-string`. */
export interface CodeNode {
	readonly text?: string;
	readonly classes: readonly string[];
	readonly children: readonly CodeNode[];
}

const languages = { bash, c, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
const lowlight = createLowlight(languages);

type Root = ReturnType<typeof lowlight.highlight>;

/** Splits code into its parts. Returns undefined for an unknown language, and for very long code. */
export function highlight(code: string, language: string): readonly CodeNode[] | undefined {
	const name = language.toLowerCase();
	if (code.length > longestHighlighted || !lowlight.registered(name)) return undefined;
	return lowlight.highlight(name, code).children.flatMap(toNode);
}

function toNode(node: Root['children'][number]): CodeNode[] {
	if (node.type === 'text') return [{ text: node.value, classes: [], children: [] }];
	if (node.type !== 'element') return [];
	const { className } = node.properties;
	const classes = Array.isArray(className) ? className.map(String) : [];
	return [{ classes, children: node.children.flatMap(toNode) }];
}
