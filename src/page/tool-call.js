/** A tool call on the page: a line that says what was asked and answered, which opens to show all of it. */

import { element, withoutTurns } from './element.js';
import { findSkillName, parseInput } from './words.js';

const wordsOfState = {
	running: 'running',
	waiting: 'waits for somebody',
	done: 'done',
	failed: 'failed',
	open: 'no result',
};

/** @typedef {ReturnType<typeof createToolCall>} CallView */

/** @param {string} name */
export function createToolCall(name) {
	const title = element('span', 'name', name);
	const question = element('span', 'brief');
	const answer = element('span', 'answer');
	const state = element('span', 'visually-hidden');
	const input = element('pre');
	const output = element('pre');
	const outputLabel = element('p', 'label', 'Result');
	const body = element('div', 'body', element('p', 'label', 'Input'), input, outputLabel, output);
	const root = element('details', 'call', element('summary', '', title, question, answer, state), body);
	/** @type {string[]} */
	const json = [];

	/** @param {keyof typeof wordsOfState} next */
	function setState(next) {
		root.dataset.state = next;
		state.textContent = wordsOfState[next];
		outputLabel.hidden = next !== 'done' && next !== 'failed';
		output.hidden = outputLabel.hidden;
	}
	setState('running');

	return {
		root,

		/** @param {string} part */
		addInput(part) {
			json.push(part);
			input.append(withoutTurns(part));
		},

		endInput() {
			const value = parseInput(json.join(''));
			input.textContent = toFullText(value);
			const skill = findSkillName(name, value);
			title.textContent = skill === undefined ? name : `skill ${skill}`;
			root.classList.toggle('skill', skill !== undefined);
			question.textContent = skill === undefined ? shortenInput(value) : '';
		},

		/**
		 * @param {unknown} value
		 * @param {boolean} isError
		 */
		setResult(value, isError) {
			setState(isError ? 'failed' : 'done');
			const text = toFullText(value);
			output.textContent = text;
			const isShort = text.length <= 80 && !text.includes('\n');
			answer.textContent = isError || (isShort && !root.classList.contains('skill')) ? text.slice(0, 200) : '';
		},

		/** It was allowed, so its result is to come. */
		resume() {
			setState('running');
		},

		/** A person has to allow it, or to give its result. */
		wait() {
			setState('waiting');
		},

		/** The run is over: a call without a result stays without one. */
		leave() {
			if (root.dataset.state === 'running') setState('open');
		},
	};
}

/** @param {unknown} value */
function toFullText(value) {
	return withoutTurns(typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? ''));
}

/**
 * @param {unknown} input
 * @returns {string} on one line; the value alone where there is but one
 */
function shortenInput(input) {
	if (typeof input !== 'object' || input === null) return String(input).slice(0, 200);
	const values = Object.values(input);
	if (values.length === 0) return '';
	const only = values.length === 1 ? values[0] : input;
	return withoutTurns(typeof only === 'string' ? only : JSON.stringify(only)).slice(0, 200);
}
