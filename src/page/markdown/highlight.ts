/** Splits code into coloured words. It is a third of the script of the page, so it is loaded with the first block of code. */

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

const languages = { bash, c, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
const lowlight = createLowlight(languages);

type Root = ReturnType<typeof lowlight.highlight>;
export type CodeNode = Root['children'][number];

/** Returns undefined for an unknown language. */
export function highlight(text: string, language: string): readonly CodeNode[] | undefined {
	const name = language.toLowerCase();
	return lowlight.registered(name) ? lowlight.highlight(name, text).children : undefined;
}
