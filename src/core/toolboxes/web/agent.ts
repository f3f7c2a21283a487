/** The name in the rules of a site for robots. */
export const agentName = 'runlet';

/**
 * What the web tools call themselves to a site, after a redirect too. The API of Runlet refuses it where it asks for no key:
 * a model must not read other sessions.
 */
export const webAgent = 'runlet (web tools)';
