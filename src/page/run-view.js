/**
 * One run of an agent as a part of the page: it takes events and adds nodes, a constant amount of work each.
 *
 * @import { Message, RunEvent } from './session.js'
 * @import { CallView } from './tool-call.js'
 * @typedef {ReturnType<typeof createRunView>} RunView
 */

import { element, withoutTurns } from './element.js';
import { createMarkdown } from './markdown.js';
import { createToolCall } from './tool-call.js';
import { describeAwaiting, describeHalt, describeStop, describeUsage, toText } from './words.js';

/**
 * @param {HTMLElement} parent
 * @param {Map<string, CallView>} [calls] those of the whole chat, by their ids: a later run may bring the result of a
 *   call that waited for somebody
 */
export function createRunView(parent, calls = new Map()) {
	const root = element('article', 'run');
	root.setAttribute('aria-label', 'Agent');
	root.setAttribute('aria-busy', 'true');
	parent.append(root);

	/** @type {HTMLElement | undefined} */
	let turn;
	/** @type {ReturnType<typeof createMarkdown> | undefined} */
	let prose;
	/** @type {HTMLElement | undefined} */
	let reasoning;
	let hasEnded = false;

	/** @param {Node} node */
	function add(node) {
		turn ??= root.appendChild(element('div', 'turn'));
		turn.append(node);
	}

	/** What comes next stands below what is there, and is no part of it. */
	function closeText() {
		prose?.end();
		prose = undefined;
		reasoning = undefined;
	}

	/**
	 * @param {string} className
	 * @param {...(Node | string)} children
	 */
	function addLine(className, ...children) {
		closeText();
		add(element('p', className, ...children));
	}

	/** @param {string} text */
	function addText(text) {
		if (!prose) {
			closeText();
			const box = element('div', 'prose');
			add(box);
			prose = createMarkdown(box);
		}
		prose.write(text);
	}

	/** @param {string} text */
	function addReasoning(text) {
		if (!reasoning) {
			closeText();
			reasoning = element('div', 'body');
			add(element('details', 'reasoning', element('summary', '', 'Reasoning'), reasoning));
		}
		reasoning.append(withoutTurns(text));
	}

	/**
	 * @param {string} id
	 * @param {string} name
	 */
	function addCall(id, name) {
		closeText();
		const call = createToolCall(name);
		calls.set(id, call);
		add(call.root);
	}

	function end() {
		if (hasEnded) return;
		hasEnded = true;
		closeText();
		for (const call of calls.values()) call.leave();
		root.removeAttribute('aria-busy');
	}

	return {
		root,

		/** @param {RunEvent} event */
		apply(event) {
			switch (event.type) {
				case 'text':
					return addText(event.text);
				case 'reasoning':
					return addReasoning(event.text);
				case 'tool_use_start':
					return addCall(event.id, event.name);
				case 'tool_use_input':
					return calls.get(event.id)?.addInput(event.partialInputJson);
				case 'tool_use_end':
					return calls.get(event.id)?.endInput();
				case 'tool_result':
					return calls.get(event.id)?.setResult(event.output, event.isError === true);
				case 'note':
					return addLine('note', element('b', '', event.label), event.detail ? ` ${event.detail}` : '');
				case 'warning':
					return addLine('warning', event.message);
				case 'turn.restarted':
					turn?.remove();
					prose = undefined;
					reasoning = undefined;
					turn = undefined;
					return;
				case 'stop': {
					const words = describeStop(event.reason);
					if (words) addLine('warning', words);
					closeText();
					turn = undefined;
					return;
				}
				case 'done': {
					const words = describeUsage(event.usage);
					if (words) addLine('usage', words);
					return end();
				}
				case 'awaiting':
					for (const { id } of event.toolCalls ?? []) calls.get(id)?.wait();
					if (typeof event.question === 'object') calls.get(event.question.callId ?? '')?.wait();
					addLine('question', describeAwaiting(event));
					return end();
				case 'halted':
					addLine('warning', describeHalt(event.reason));
					return end();
				case 'cancelled':
					addLine('note', 'Stopped.');
					return end();
				case 'error':
					addLine('failure', event.message, ' ', element('code', 'error-code', event.code));
					return end();
			}
		},

		/** Shows the text that `apply` took in: once a frame is enough. */
		flush() {
			prose?.flush();
		},

		end,
	};
}

/**
 * A stored message as the events that made it.
 *
 * @param {Message} message of an assistant or a tool
 * @returns {Generator<RunEvent>}
 */
export function* toEvents({ role, content, reasoning, toolCalls = [], toolCallId = '', isError = false }) {
	if (role === 'tool') {
		yield { type: 'tool_result', id: toolCallId, output: content, isError };
		return;
	}
	const text = toText(content);
	if (reasoning) yield { type: 'reasoning', text: reasoning };
	if (text) yield { type: 'text', text };
	for (const { id, name, input } of toolCalls) {
		yield { type: 'tool_use_start', id, name };
		yield { type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) };
		yield { type: 'tool_use_end', id };
	}
	yield { type: 'stop', reason: 'end' };
}
