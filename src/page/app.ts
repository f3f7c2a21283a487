/** The page: the chat and the panels, each at its own address. */

import { createClient } from '../client/index.ts';
import { createChat } from './chat/chat.ts';
import { createMenu } from './menu/menu.ts';
import { panels } from './panels.ts';
import { moveOldAddress, parseAddress } from './parts/address.ts';
import { find } from './parts/element.ts';
import { readKey } from './parts/key.ts';
import { createPanelView } from './parts/panel-view.ts';
import { toCurl } from './trace/curl.ts';
import { createTraceDrawer } from './trace/drawer.ts';

// The API is beside this script, whatever path the page is at.
const server = { baseUrl: new URL('.', import.meta.url).href, apiKey: readKey };
const client = createClient(server);
const menu = createMenu(client, panels);
const chat = createChat(createClient({ ...server, onRetry: () => chat.tellRetry() }), () => {
	void menu.refresh();
	showTrace();
});
const trace = createTraceDrawer(client, (session) => toCurl(server.baseUrl, session, readKey() !== undefined));
const panelView = createPanelView(find('#panel', HTMLElement), client, menu.refresh);
const chatRoots = [find('#chat', HTMLElement), find('#chosen', HTMLElement)];

/** Turns the trace to the chat that is open. */
function showTrace(): void {
	const { panel, session } = parseAddress(location.hash);
	trace.show(panel === undefined ? session : undefined);
}

/** Shows what the address names. */
function show(): void {
	const address = parseAddress(location.hash);
	const panel = panels.find(({ name }) => name === address.panel);
	menu.point();
	showTrace();
	for (const root of chatRoots) root.hidden = panel !== undefined;
	if (panel === undefined) {
		panelView.close();
		void chat.open(address.session);
	} else {
		chat.close();
		panelView.open(panel);
	}
}

const offline = find('#offline', HTMLElement);
const tellOffline = () => {
	offline.hidden = navigator.onLine;
};
addEventListener('online', tellOffline);
addEventListener('offline', tellOffline);
tellOffline();

moveOldAddress();
addEventListener('hashchange', show);
menu.onNewChat(show);
show();
