/** Colours of code, by highlight.js. */

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
import { element } from '../parts/element.ts';

const languages = { bash, c, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
const lowlight = createLowlight(languages);

type Root = ReturnType<typeof lowlight.highlight>;

/** Gives code as pieces with classes, or nothing for a language that is not known. */
export function highlight(text: string, language: string): ChildNode[] | undefined {
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
