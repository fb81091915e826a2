/* SPDX-License-Identifier: MIT */
/* analysis/predict/network.c - other costs of messages, from the command line */
#include "analysis/predict/network.h"

#include <libiberty/libiberty.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/predict/whatif.h"

#define LATENCY	  "latency="
#define BANDWIDTH "bandwidth="

struct unit {
	const char *word;
	double factor;
};

static const struct unit times[] = {
	{ "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { NULL, 0 }
};
static const struct unit sizes[] = {
	{ "", 1 }, { "K", 1e3 }, { "M", 1e6 }, { "G", 1e9 }, { NULL, 0 }
};

/* Parse a plain decimal number with one of @units. */
static bool parse(const char *text, const struct unit *units, double *value)
{
	size_t digits = strspn(text, "0123456789.");
	char *end;

	if (digits == 0)
		return false;
	*value = strtod(text, &end);
	if (end != text + digits)
		return false;
	while (units->word && strcmp(units->word, end) != 0)
		units++;
	*value *= units->factor;
	return units->word;
}

static const char *add_term(struct cpa_network *network, const char *term)
{
	double value;

	if (strncmp(term, LATENCY, strlen(LATENCY)) == 0) {
		if (!parse(term + strlen(LATENCY), times, &network->latency_s) ||
		    network->latency_s > 1)
			return "latency: a time of at most 1 s expected, as 10us";
		return NULL;
	}
	if (strncmp(term, BANDWIDTH, strlen(BANDWIDTH)) == 0) {
		if (!parse(term + strlen(BANDWIDTH), sizes, &value) || value < 1)
			return "bandwidth: bytes a second expected, as 100M or 1G";
		network->second_per_byte = 1 / value;
		return NULL;
	}
	return "'latency=TIME bandwidth=BYTES' or KIND:NAME=FACTOR expected";
}

static bool parse_kind(const char *text, size_t length, unsigned *kinds)
{
	static const struct {
		const char *word;
		unsigned kinds;
	} known[] = { { "pipe", 1u << CPA_STREAM_PIPE },
		      { "unix", 1u << CPA_STREAM_UNIX | 1u << CPA_STREAM_PACKET |
					1u << CPA_STREAM_DATAGRAM },
		      { "tcp", 1u << CPA_STREAM_TCP },
		      { "udp", 1u << CPA_STREAM_UDP },
		      { "eventfd", 1u << CPA_STREAM_EVENTFD },
		      { "*", UINT_MAX } };

	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].word) != length || strncmp(known[i].word, text, length) != 0)
			continue;
		*kinds = known[i].kinds;
		return true;
	}
	return false;
}

static const char *add_factor(struct cpa_network *network, const char *text, const char *colon)
{
	const char *equals = strrchr(text, '=');
	struct cpa_network_factor factor;

	if (!parse_kind(text, (size_t)(colon - text), &factor.kinds))
		return "pipe, unix, tcp, udp, eventfd or * expected before ':'";
	if (!equals || equals <= colon + 1)
		return "KIND:NAME=FACTOR expected";
	if (!cpa_change_factor(equals + 1, &factor.factor))
		return "after '=' a factor from 0 to 100 expected";
	factor.name = xstrndup(colon + 1, (size_t)(equals - colon) - 1);
	network->factor =
		XRESIZEVEC(struct cpa_network_factor, network->factor, network->factors + 1);
	network->factor[network->factors++] = factor;
	return NULL;
}

const char *cpa_network_add(struct cpa_network *network, const char *text)
{
	const char *colon = strchr(text, ':'), *error = NULL;
	char *copy, *rest, *term;

	network->asked = true;
	if (colon)
		return add_factor(network, text, colon);
	if (!text[strspn(text, " ")]) /* nothing */
		return add_term(network, text);
	rest = copy = xstrdup(text);
	while (!error && (term = strsep(&rest, " ")) != NULL)
		if (*term)
			error = add_term(network, term);
	free(copy);
	return error;
}

void cpa_network_fini(struct cpa_network *network)
{
	for (size_t i = 0; i < network->factors; i++)
		free(network->factor[i].name);
	free(network->factor);
}
