/** The HTTP tools of an owner. */

import type { UserTool, UserToolBody } from '../../client/index.ts';
import { configure, element } from '../parts/element.ts';
import {
	createField,
	createForm,
	createRemoval,
	createTextArea,
	createTextField,
	parseField,
	parseTexts,
} from '../parts/form.ts';
import type { Panel, Place } from '../parts/panel.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export const tools: Panel = {
	name: 'tools',
	right: 'setUp',
	title: 'Tools',
	about: 'HTTP tools of your own, which every agent that allows them may call.',
	async open(root, place) {
		const known = await place.client.listTools({ signal: place.signal });
		root.append(
			element('details', 'adding', element('summary', '', 'Define a tool'), createNew(place)),
			element('p', 'nothing', 'No HTTP tool is defined. The tools of the agents are in the panel Agents.'),
			element('ul', 'cards', ...known.map((tool) => createEntry(tool, place))),
		);
	},
};

function createEntry(
	{ name, description, method, url, inputSchema, secretNames }: UserTool,
	place: Place,
): HTMLElement {
	const { client, signal, again } = place;
	const remove = createRemoval(name, async () => {
		await client.deleteTool(name, { signal });
		again();
	});
	const head = element('p', 'card-head', element('b', 'title', name), remove);
	const address = element('p', 'mono about', `${method} ${url}`);
	const schema = configure(element('pre', 'input', JSON.stringify(inputSchema, undefined, 2)), { tabIndex: 0 });
	const secrets = secretNames.length === 0 ? undefined : element('p', 'about', `Secrets: ${secretNames.join(', ')}`);
	const more = element('details', '', element('summary', '', 'Its input'), schema);
	return element('li', 'card', head, element('p', '', description), address, secrets, more);
}

function createNew({ client, signal, again }: Place): HTMLElement {
	const name = createTextField('', 'get_weather');
	const description = createTextField('', 'Tells the weather in a city.');
	const url = createTextField('', 'https://api.example.com/weather?city={city}');
	const method = element('select', '', ...methods.map((name) => new Option(name, name)));
	const schema = createTextArea(
		JSON.stringify({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }, undefined, 2),
		8,
	);
	const headers = createTextArea('{}', 2);
	const secrets = createTextArea('{}', 2);
	const fields = [
		createField('Name', name),
		createField('What it does, for the model', description),
		createField('Method', method),
		createField('URL', url, '{field} is the value of that field of the input.'),
		createField('Input, as JSON Schema', schema),
		createField('Headers', headers, `\${NAME} is the secret of that name.`),
		createField('Secrets', secrets, 'No answer shows them.'),
	];
	return createForm('Define', fields, async () => {
		const body: UserToolBody = {
			description: description.value,
			url: url.value,
			method: methods.find((name) => name === method.value),
			inputSchema: parseField('Input', schema.value),
			headers: parseTexts('Headers', headers.value),
			secrets: parseTexts('Secrets', secrets.value),
		};
		await client.putTool(name.value, body, { signal });
		again();
	});
}
