/** The page of a link: the card of the call that waits, as on the page of Runlet (docs/people.md, "Links"). */

import { html } from 'hono/html';
import { toDiffLineKinds } from '../../core/base/diff-lines.ts';
import { isRecord, parseJson } from '../../core/base/json.ts';
import { showSigns } from '../../core/base/text.ts';
import type { LinkedCall } from '../objects/link-api.ts';

type Html = ReturnType<typeof html>;

/** Deeper values are shown as JSON. */
const deepest = 6;

const labelWords = { outside: 'from outside', private: 'private' } as const;

const styles = `:root{color-scheme:light dark;font:1rem/1.6 system-ui,sans-serif;--muted:light-dark(#616a6c,#99a2a3);--line:light-dark(#dfe3e1,#31383a);--tint:light-dark(#eef3f3,#222a2c);--accent:light-dark(#0f6b7c,#5cc1d2)}
body{max-width:44rem;margin:0 auto;padding:1.5rem 1rem;color:light-dark(#1e2224,#e6e7e5);background:light-dark(#fcfbf9,#15181a);overflow-wrap:anywhere}
h1{margin:0;font-size:1.25rem}p{margin:.25rem 0 1rem;color:var(--muted);font-size:.875rem}
dl{margin:.75rem 0}dt{color:var(--muted);font-size:.875rem}dd{margin:0 0 .5rem;white-space:pre-wrap}dd dl{margin:0;padding-inline-start:1rem;border-inline-start:2px solid var(--line)}dd dl,ul{white-space:normal}ul{margin:0;padding-inline-start:1.25rem}
li{white-space:pre-wrap}pre{max-height:60vh;overflow:auto;padding:.75rem;border:1px solid var(--line);border-radius:.5rem;font-size:.875rem;white-space:pre-wrap}details{margin-block:1rem;font-size:.875rem}summary{color:var(--muted);cursor:pointer}
pre span{display:block}.added{background:light-dark(#e3f4e6,#17331f)}.removed{background:light-dark(#fde8e6,#3d1d1b)}
button{width:100%;min-height:2.75rem;border:0;border-radius:2rem;background:var(--accent);color:light-dark(#fff,#0d1a1d);font:inherit;font-weight:600;cursor:pointer}`;

/** `nonce` lets the styles pass the policy of the page. */
export function writeQuestion(call: LinkedCall, nonce: string): Html {
	const { approve, agent, for: whom, user, title, tool, input, flow, preview, spent, labels, since, expiresAt } = call;
	const word = approve ? 'Approve' : 'Deny';
	const facts = [
		`The agent ${agent} calls ${showSigns(tool)}`,
		...(title === undefined ? [] : [`in “${showSigns(title)}”`]),
		...(user === undefined ? [] : [`for ${showSigns(user)}`]),
		`since ${showTime(since)}`,
		`until ${showTime(expiresAt)}`,
		...(spent.tokens > 0 ? [`${spent.tokens} tokens${spent.usd > 0 ? `, $${spent.usd.toFixed(5)}` : ''} so far`] : []),
		...labels.map((label) => labelWords[label]),
	];
	const fields = writeValue(parseJson(input), 0);
	return html`<style nonce="${nonce}">${styles}</style>
<h1>${word}: ${toWords(tool)}?</h1>
<p>${facts.join(' · ')}</p>
${preview === undefined ? fields : html`${writePreview(showSigns(preview))}<details ${flow === undefined ? '' : 'open'}><summary>Arguments</summary>${fields}</details>`}
${flow === undefined ? '' : writeFlow(flow)}
${whom === undefined ? '' : html`<p>You decide as ${showSigns(whom)}.</p>`}
<form method="post"><button>${word}</button></form>`;
}

const showTime = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`;

/** Returns the name of a tool or an argument in words, such as `Order id` for `orderId`. */
function toWords(name: string): string {
	if (!/^[\w.-]+$/.test(name)) return showSigns(name);
	const words = name.replace(/([a-z\d])([A-Z])(?=[a-z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
	const text = words.replace(/[_.-]+/g, ' ').trim();
	return text.charAt(0).toUpperCase() + text.slice(1);
}

function writeValue(value: unknown, depth: number): Html | string {
	if (value === null) return 'none';
	if (typeof value === 'boolean') return value ? 'yes' : 'no';
	if (typeof value !== 'object') return showSigns(String(value));
	if (depth >= deepest) return showSigns(JSON.stringify(value, null, 2));
	if (!isRecord(value)) {
		const items = Object.values(value ?? []).map((item) => html`<li>${writeValue(item, depth + 1)}</li>`);
		return items.length === 0 ? 'none' : html`<ul>${items}</ul>`;
	}
	const rows = Object.entries(value).map(
		([name, inner]) => html`<dt>${toWords(name)}</dt><dd>${writeValue(inner, depth + 1)}</dd>`,
	);
	return rows.length === 0 ? 'none' : html`<dl>${rows}</dl>`;
}

function writePreview(preview: string): Html {
	if (!/^(?:diff |--- |@@)/m.test(preview)) return html`<pre>${preview}</pre>`;
	const lines = preview.trimEnd().split('\n');
	const kinds = toDiffLineKinds(lines);
	return html`<pre>${lines.map((line, at) => html`<span class="${kinds[at] ?? ''}">${line === '' ? ' ' : line}</span>`)}</pre>`;
}

/** Says where a call would send to, what strangers wrote, and what is private (docs/untrusted-text.md). */
function writeFlow({ targets, outside, private: own }: NonNullable<LinkedCall['flow']>): Html {
	const list = (texts: readonly string[]) => texts.map((text) => html`<dd>${showSigns(text)}</dd>`);
	const name = ({ what }: { readonly what: string }) => what;
	return html`<dl><dt>Would send the above to</dt>${list(targets.length > 0 ? targets : ['an unknown place'])}
<dt>Strangers may have written</dt>${list(outside.map(name))}
<dt>Private</dt>${list(own.map(name))}</dl>`;
}
